//! `cusp fmt`.

use std::convert::identity;
use std::path::Path;
use std::sync::Arc;

use crate::budget::Budget;
use crate::diagnostic::{Diagnostic, has_errors};
use crate::progress::Progress;
use crate::reason::Reason;
use crate::report::diagnostics;
use crate::report::output::Output;
use crate::source::Source;
use crate::syntax::{self, ast};

use super::Status;
use super::options::FmtArgs;
use super::outfile::OutFile;
use super::session::{Session, unless_stopped};

/// Lays out every file that can be read; the others are reported and left as they are.
pub fn run(args: &FmtArgs, output: &mut Output, leave_at_once: fn()) -> Status {
    if args.write && args.files.iter().any(|file| file == Path::new("-")) {
        output.message("error: `--write` changes files; standard input is not one\n");
        return Status::Usage;
    }
    let session = Session::new(args.limits.limits(), true, leave_at_once);
    session.each_file(&args.files, false, output, |file, output| one_file(args, file, &session, output))
}

fn one_file(args: &FmtArgs, file: &Path, session: &Session, output: &mut Output) -> Status {
    let run = session.begin();
    let path = file.to_owned();
    let read = move |budget: &Budget| Source::load_unless(&path, &|| budget.exhausted().is_some());
    let name = Source::name_of(file);
    let source = match run.reading(read) {
        Ok(Ok(source)) => Arc::new(source),
        Ok(Err(error)) => {
            output.message(&diagnostics::load_error(&error));
            return Status::BadInput;
        }
        Err(reason) => return left_as_it_is(&name, &reason, output),
    };
    let work = {
        let (source, dialect) = (Arc::clone(&source), args.dialect.into());
        move |budget: &Budget, _: &dyn Progress| laid_out(&source, dialect, budget)
    };
    let text = match run.within_limits(&name, output, work).0.and_then(identity) {
        Ok(Ok(text)) => text,
        Ok(Err(found)) => {
            let colour = output.colours_messages();
            output.message(&diagnostics::findings(&source, &found, colour));
            return Status::BadInput;
        }
        Err(reason) => return left_as_it_is(&name, &reason, output),
    };
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

/// The text of a program in our layout, or what is wrong with it.
fn laid_out(
    source: &Source,
    dialect: ast::Dialect,
    budget: &Budget,
) -> Result<Result<String, Vec<Diagnostic>>, Reason> {
    let (ast, found) = syntax::parse_unless(source, dialect, &|| budget.exhausted().is_some());
    // Nothing is printed of a text that was not read to its end.
    let read = if has_errors(&found) || budget.exhausted().is_some() { Err(found) } else { Ok(()) };
    Ok(unless_stopped(read, budget)?.map(|()| syntax::print(&ast)))
}

/// Says why a file was not laid out.
fn left_as_it_is(file: &str, reason: &Reason, output: &mut Output) -> Status {
    output.message(&format!("error: `{file}` is left as it is: {reason}\n"));
    if *reason == Reason::Interrupted { Status::Interrupted } else { Status::Unknown }
}
