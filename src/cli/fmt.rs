//! `cusp fmt`.

use std::path::Path;

use crate::diagnostic::has_errors;
use crate::report::diagnostics;
use crate::report::output::Output;
use crate::source::Source;
use crate::syntax;

use super::Status;
use super::options::FmtArgs;
use super::outfile::OutFile;

/// Lays out every file that can be read; the others are reported and left as they are.
pub fn run(args: &FmtArgs, output: &mut Output) -> Status {
    if args.write && args.files.iter().any(|file| file == Path::new("-")) {
        output.message("error: `--write` changes files; standard input is not one\n");
        return Status::Usage;
    }
    let mut status = Status::Safe;
    for file in &args.files {
        if output.is_closed() {
            break;
        }
        status = status.or_worse(one_file(args, file, output));
    }
    status
}

fn one_file(args: &FmtArgs, file: &Path, output: &mut Output) -> Status {
    let source = match Source::load(file) {
        Ok(source) => source,
        Err(error) => {
            output.message(&diagnostics::load_error(&error));
            return Status::BadInput;
        }
    };
    let (ast, found) = syntax::parse(&source, args.dialect.into());
    if has_errors(&found) {
        let colour = output.colours_messages();
        output.message(&diagnostics::findings(&source, &found, colour));
        return Status::BadInput;
    }
    let text = syntax::print(&ast);
    let changes = text != source.text();
    if args.check {
        if changes {
            output.answer(&format!("{}\n", source.name()));
            return Status::BadInput;
        }
    } else if args.write {
        let write = || OutFile::open(file, [])?.write(|stream| stream.write_all(&source.encode(&text)));
        if changes && let Err(why) = write() {
            output.message(&format!("error: {why}\n"));
            return Status::BadInput;
        }
    } else {
        output.bytes(&source.encode(&text));
    }
    Status::Safe
}
