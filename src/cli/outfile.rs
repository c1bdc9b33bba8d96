//! Files that answers are written to.
//!
//! A file is tried before the run, so that a path that cannot be written is a mistake on the command line and not
//! a lost answer. It gets its contents under another name in the same folder and is renamed when it is complete: an
//! old file is replaced by a whole new one or stays as it is.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file that can be written, but has not been yet.
#[derive(Debug)]
pub(super) struct OutFile {
    /// As the user calls it.
    name: String,
    /// Where it is.
    target: PathBuf,
    to: Destination,
}

#[derive(Debug)]
enum Destination {
    /// A file beside the final one, which is made when there is something to write: until then, a run that is killed
    /// leaves nothing behind.
    Beside,
    /// A device or a pipe: there is nothing to rename.
    Directly(File),
}

impl OutFile {
    /// Makes sure that a file can be written, and that it is none of the inputs.
    ///
    /// # Errors
    /// Why not, in a sentence.
    pub fn open<'p>(path: &Path, inputs: impl IntoIterator<Item = &'p PathBuf>) -> Result<Self, String> {
        let name = path.display();
        if inputs.into_iter().any(|input| is_same(path, input)) {
            return Err(format!("`{name}` is an input, and would be overwritten"));
        }
        // A link is followed: what it points to is replaced, and not the link.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let to = Self::destination(&target).map_err(|error| {
            // The name of the file beside it means nothing to the user.
            let error = error.to_string();
            let why = error.split(" at path").next().unwrap_or(&error);
            format!("`{name}` cannot be written: {why}")
        })?;
        Ok(Self { name: name.to_string(), target, to })
    }

    fn destination(path: &Path) -> io::Result<Destination> {
        match fs::metadata(path) {
            Ok(there) if there.is_dir() => Err(io::Error::other("it is a folder")),
            Ok(there) if !there.is_file() => {
                OpenOptions::new().write(true).open(path).map(Destination::Directly)
            }
            there => beside(path, there.ok()).map(|_| Destination::Beside),
        }
    }

    /// Writes the file as a whole.
    ///
    /// # Errors
    /// Why that was not possible, in a sentence; the old file, if there was one, is as it was.
    pub fn write(self, contents: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), String> {
        let result = match self.to {
            Destination::Directly(file) => fill(&file, contents),
            Destination::Beside => beside(&self.target, fs::metadata(&self.target).ok()).and_then(|file| {
                fill(file.as_file(), contents)?;
                file.persist(&self.target).map(drop).map_err(|error| error.error)
            }),
        };
        result.map_err(|error| format!("`{}` cannot be written: {error}", self.name))
    }
}

/// A file in the same folder as another one, with its permissions.
fn beside(path: &Path, there: Option<Metadata>) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".cusp-");
    if let Some(there) = there {
        // A file that must not be written is not replaced, either.
        OpenOptions::new().append(true).open(path)?;
        builder.permissions(there.permissions());
    } else {
        #[cfg(unix)]
        {
            // The usual permissions of a new file, not those of a secret one.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    builder.tempfile_in(folder.unwrap_or(Path::new(".")))
}

/// Whether two paths lead to the same file, be it through links of either kind.
fn is_same(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    if let (Ok(one), Ok(other)) = (fs::metadata(one), fs::metadata(other)) {
        use std::os::unix::fs::MetadataExt;
        // Nothing that is written to a device or a pipe replaces it.
        return one.is_file() && (one.dev(), one.ino()) == (other.dev(), other.ino());
    }
    matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}

fn fill(file: &File, contents: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut stream = BufWriter::new(file);
    contents(&mut stream)?;
    stream.flush()
}
