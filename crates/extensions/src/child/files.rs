//! Files, for `node:fs`. Every function checks first whether the extension may use the path. Errors have the form of Node's:
//! `ENOENT: no such file or directory, open '/x'`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use rquickjs::prelude::{Func, Opt};
use rquickjs::{ArrayBuffer, Ctx, Exception, Object};
use serde_json::{Value, json};

use super::bytes;
use super::primitives::RuntimeState;
use crate::file_rules::FileAccess;

/// The largest file that is read at once.
const MAX_READ: u64 = 128 << 20;
/// The most files that an extension has open.
const MAX_OPEN: usize = 256;

/// The open files of an extension, by the numbers that it knows.
#[derive(Debug, Default)]
pub(crate) struct OpenFiles {
    files: RefCell<HashMap<i32, File>>,
    last: RefCell<i32>,
}

/// The system's name of an error, and its text in Node.
fn code(error: &io::Error) -> (&'static str, String) {
    use rustix::io::Errno;
    let text = || error.to_string();
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => ("ENOENT", "no such file or directory".to_owned()),
        Some(Errno::EXIST) => ("EEXIST", "file already exists".to_owned()),
        Some(Errno::ACCESS) => ("EACCES", "permission denied".to_owned()),
        Some(Errno::PERM) => ("EPERM", "operation not permitted".to_owned()),
        Some(Errno::NOTDIR) => ("ENOTDIR", "not a directory".to_owned()),
        Some(Errno::ISDIR) => ("EISDIR", "illegal operation on a directory".to_owned()),
        Some(Errno::NOTEMPTY) => ("ENOTEMPTY", "directory not empty".to_owned()),
        Some(Errno::XDEV) => ("EXDEV", "cross-device link not permitted".to_owned()),
        Some(Errno::LOOP) => ("ELOOP", "too many symbolic links encountered".to_owned()),
        Some(Errno::NAMETOOLONG) => ("ENAMETOOLONG", "name too long".to_owned()),
        Some(Errno::INVAL) => ("EINVAL", "invalid argument".to_owned()),
        Some(Errno::NOSPC) => ("ENOSPC", "no space left on device".to_owned()),
        Some(Errno::ROFS) => ("EROFS", "read-only file system".to_owned()),
        Some(Errno::BADF) => ("EBADF", "bad file descriptor".to_owned()),
        _ => match error.kind() {
            ErrorKind::NotFound => ("ENOENT", text()),
            ErrorKind::AlreadyExists => ("EEXIST", text()),
            ErrorKind::PermissionDenied => ("EACCES", text()),
            _ => ("EIO", text()),
        },
    }
}

fn failure(error: &io::Error, operation: &str, path: &Path) -> String {
    let (code, text) = code(error);
    format!("{code}: {text}, {operation} '{}'", path.display())
}

/// The functions of one extension.
#[derive(Clone)]
struct Files(Rc<RuntimeState>);

type FileResult<T> = Result<T, String>;

impl Files {
    fn read(&self, path: &str) -> FileResult<Vec<u8>> {
        let path = Path::new(path);
        let real = self.0.granted(path, FileAccess::Read)?;
        let failed = |error: io::Error| failure(&error, "open", path);
        let file = File::open(&real).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if about.is_dir() {
            return Err(format!("EISDIR: illegal operation on a directory, read '{}'", path.display()));
        }
        let mut bytes = Vec::new();
        // One byte more than allowed shows that the file is too large.
        file.take(MAX_READ + 1).read_to_end(&mut bytes).map_err(failed)?;
        match bytes.len() as u64 > MAX_READ {
            true => {
                Err(format!("EFBIG: the file is larger than {MAX_READ} bytes, read '{}'", path.display()))
            }
            false => Ok(bytes),
        }
    }

    fn write(&self, path: &str, bytes: &[u8], flags: &str, mode: u32) -> FileResult<()> {
        let path = Path::new(path);
        let real = self.0.granted(path, FileAccess::Write)?;
        let failed = |error: io::Error| failure(&error, "open", path);
        options(flags, mode)?.open(real).and_then(|mut file| file.write_all(bytes)).map_err(failed)
    }

    /// What is known about a file, as JSON; `null` if it does not exist.
    fn stat(&self, path: &str, follow: bool) -> FileResult<Value> {
        let path = Path::new(path);
        let (operation, real) = match follow {
            true => ("stat", self.0.granted(path, FileAccess::Read)?),
            false => ("lstat", self.0.granted_link(path, FileAccess::Read)?),
        };
        let about = if follow { fs::metadata(real) } else { fs::symlink_metadata(real) };
        match about {
            Ok(about) => Ok(describe(&about)),
            Err(error) => Err(failure(&error, operation, path)),
        }
    }

    fn list(&self, path: &str) -> FileResult<Value> {
        let path = Path::new(path);
        let real = self.0.granted(path, FileAccess::Read)?;
        let failed = |error: io::Error| failure(&error, "scandir", path);
        let mut entries = Vec::new();
        for entry in fs::read_dir(real).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_or("unknown", |kind| match () {
                () if kind.is_dir() => "folder",
                () if kind.is_symlink() => "link",
                () if kind.is_file() => "file",
                () => "other",
            });
            entries.push((entry.file_name().to_string_lossy().into_owned(), kind));
        }
        entries.sort_unstable();
        Ok(json!(entries))
    }

    fn make_folder(&self, path: &str, recursive: bool) -> FileResult<Option<String>> {
        let path = Path::new(path);
        let real = self.0.granted(path, FileAccess::Write)?;
        let failed = |error: io::Error| failure(&error, "mkdir", path);
        if !recursive {
            return fs::create_dir(real).map(|()| None).map_err(failed);
        }
        let first = real.ancestors().take_while(|folder| !folder.exists()).last().map(Path::to_owned);
        fs::create_dir_all(&real).map_err(failed)?;
        Ok(first.map(|folder| folder.to_string_lossy().into_owned()))
    }

    fn remove(&self, path: &str, kind: &str) -> FileResult<()> {
        let path = Path::new(path);
        let real = self.0.granted_link(path, FileAccess::Write)?;
        let (operation, done) = match kind {
            "file" => ("unlink", fs::remove_file(&real)),
            "folder" => ("rmdir", fs::remove_dir(&real)),
            _ => ("rm", remove_all(&real)),
        };
        done.map_err(|error| failure(&error, operation, path))
    }

    fn rename(&self, from: &str, to: &str) -> FileResult<()> {
        let real = self.0.granted_link(Path::new(from), FileAccess::Write)?;
        let target = self.0.granted_link(Path::new(to), FileAccess::Write)?;
        fs::rename(real, target).map_err(|error| two_paths(&error, "rename", from, to))
    }

    fn copy(&self, from: &str, to: &str, exclusive: bool) -> FileResult<()> {
        let real = self.0.granted(Path::new(from), FileAccess::Read)?;
        let target = self.0.granted(Path::new(to), FileAccess::Write)?;
        let copied = match exclusive {
            true => File::create_new(&target).and_then(|_| fs::copy(real, target)),
            false => fs::copy(real, target),
        };
        copied.map(drop).map_err(|error| two_paths(&error, "copyfile", from, to))
    }

    /// A link may only lead to what the extension may use itself. It is stored with its whole target, because another one would lead
    /// elsewhere after a rename of the link or of a folder above it.
    fn link(&self, target: &str, path: &str) -> FileResult<()> {
        let real = self.0.granted_link(Path::new(path), FileAccess::Write)?;
        let folder = real.parent().unwrap_or(Path::new("/"));
        let leads_to = self.0.granted(&folder.join(target), FileAccess::Write)?;
        let made = std::os::unix::fs::symlink(leads_to, &real);
        made.map_err(|error| two_paths(&error, "symlink", target, path))
    }

    fn read_link(&self, path: &str) -> FileResult<String> {
        let path = Path::new(path);
        let real = self.0.granted_link(path, FileAccess::Read)?;
        let target = fs::read_link(real).map_err(|error| failure(&error, "readlink", path))?;
        Ok(target.to_string_lossy().into_owned())
    }

    fn real_path(&self, path: &str) -> FileResult<String> {
        let path = Path::new(path);
        let real = self.0.granted(path, FileAccess::Read)?;
        let real = real.canonicalize().map_err(|error| failure(&error, "realpath", path))?;
        Ok(real.to_string_lossy().into_owned())
    }

    fn check_access(&self, path: &str, mode: u32) -> FileResult<()> {
        use rustix::fs::{Access, access};
        let path = Path::new(path);
        let real = self.0.granted(path, FileAccess::Read)?;
        if mode & 2 != 0 {
            self.0.granted(path, FileAccess::Write)?;
        }
        let wanted = Access::from_bits_truncate(mode);
        access(real, wanted).map_err(|error| failure(&error.into(), "access", path))
    }

    fn set_mode(&self, path: &str, mode: u32) -> FileResult<()> {
        let path = Path::new(path);
        let real = self.0.granted(path, FileAccess::Write)?;
        // No extension makes a program that runs with another user's rights.
        let mode = fs::Permissions::from_mode(mode & 0o777);
        fs::set_permissions(real, mode).map_err(|error| failure(&error, "chmod", path))
    }

    fn set_times(&self, path: &str, accessed: f64, modified: f64) -> FileResult<()> {
        let path = Path::new(path);
        let real = self.0.granted(path, FileAccess::Write)?;
        let times = fs::FileTimes::new().set_accessed(time(accessed)).set_modified(time(modified));
        let file = OpenOptions::new().write(true).open(real);
        file.and_then(|file| file.set_times(times)).map_err(|error| failure(&error, "utime", path))
    }

    fn truncate(&self, path: &str, length: f64) -> FileResult<()> {
        let path = Path::new(path);
        let real = self.0.granted(path, FileAccess::Write)?;
        let file = OpenOptions::new().write(true).open(real);
        file.and_then(|file| file.set_len(length as u64)).map_err(|error| failure(&error, "open", path))
    }

    fn make_temporary(&self, prefix: &str) -> FileResult<String> {
        let wanted = PathBuf::from(format!("{prefix}XXXXXX"));
        let parent = self.0.granted(wanted.parent().unwrap_or(Path::new("/")), FileAccess::Write)?;
        let start = Path::new(prefix).file_name().filter(|_| !prefix.ends_with('/')).unwrap_or_default();
        for _ in 0..100 {
            let random: String =
                super::digest::random_bytes(3).iter().map(|byte| format!("{byte:02x}")).collect();
            let folder = parent.join(format!("{}{random}", start.to_string_lossy()));
            match fs::DirBuilder::new().create(&folder) {
                Ok(()) => {
                    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).ok();
                    return Ok(folder.to_string_lossy().into_owned());
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failure(&error, "mkdtemp", &wanted)),
            }
        }
        Err(format!("EEXIST: file already exists, mkdtemp '{}'", wanted.display()))
    }

    fn open(&self, path: &str, flags: &str, mode: u32) -> FileResult<i32> {
        let path = Path::new(path);
        let reads = flags.starts_with('r') || flags.contains('+');
        if reads && flags != "r" {
            self.0.granted(path, FileAccess::Read)?;
        }
        let access = if flags == "r" { FileAccess::Read } else { FileAccess::Write };
        let real = self.0.granted(path, access)?;
        let open = &self.0.open_files;
        if open.files.borrow().len() >= MAX_OPEN {
            return Err(format!("EMFILE: too many open files, open '{}'", path.display()));
        }
        let file = options(flags, mode)?.open(real).map_err(|error| failure(&error, "open", path))?;
        // The numbers below are those of standard input, output and error.
        let number = (*open.last.borrow()).max(9) + 1;
        *open.last.borrow_mut() = number;
        open.files.borrow_mut().insert(number, file);
        Ok(number)
    }

    fn with_file<T>(
        &self,
        number: i32,
        operation: &str,
        run: impl FnOnce(&mut File) -> io::Result<T>,
    ) -> FileResult<T> {
        let mut files = self.0.open_files.files.borrow_mut();
        let file =
            files.get_mut(&number).ok_or_else(|| format!("EBADF: bad file descriptor, {operation}"))?;
        run(file).map_err(|error| {
            let (code, text) = code(&error);
            format!("{code}: {text}, {operation}")
        })
    }

    /// A negative position means the current one.
    fn read_open(&self, number: i32, length: f64, position: f64) -> FileResult<Vec<u8>> {
        self.with_file(number, "read", |file| {
            let mut bytes = vec![0; (length as usize).min(MAX_READ as usize)];
            let count = match position < 0.0 {
                true => file.read(&mut bytes)?,
                false => std::os::unix::fs::FileExt::read_at(file, &mut bytes, position as u64)?,
            };
            bytes.truncate(count);
            Ok(bytes)
        })
    }

    fn write_open(&self, number: i32, bytes: &[u8], position: f64) -> FileResult<()> {
        self.with_file(number, "write", |file| {
            if position >= 0.0 {
                file.seek(SeekFrom::Start(position as u64))?;
            }
            file.write_all(bytes)
        })
    }

    fn stat_open(&self, number: i32) -> FileResult<Value> {
        self.with_file(number, "fstat", |file| file.metadata().map(|about| describe(&about)))
    }

    fn sync_open(&self, number: i32) -> FileResult<()> {
        self.with_file(number, "fsync", |file| file.sync_all())
    }

    fn truncate_open(&self, number: i32, length: f64) -> FileResult<()> {
        self.with_file(number, "ftruncate", |file| file.set_len(length as u64))
    }

    fn close(&self, number: i32) -> FileResult<()> {
        let removed = self.0.open_files.files.borrow_mut().remove(&number);
        removed.map(drop).ok_or_else(|| "EBADF: bad file descriptor, close".to_owned())
    }
}

fn remove_all(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path)?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

fn two_paths(error: &io::Error, operation: &str, from: &str, to: &str) -> String {
    let (code, text) = code(error);
    format!("{code}: {text}, {operation} '{from}' -> '{to}'")
}

fn time(milliseconds: f64) -> SystemTime {
    let time = Duration::try_from_secs_f64(milliseconds / 1000.0).unwrap_or_default();
    SystemTime::UNIX_EPOCH + time
}

/// How Node's flags open a file.
fn options(flags: &str, mode: u32) -> FileResult<OpenOptions> {
    let mut options = OpenOptions::new();
    match flags {
        "r" => options.read(true),
        "r+" | "rs+" => options.read(true).write(true),
        "w" => options.write(true).create(true).truncate(true),
        "wx" | "xw" => options.write(true).create_new(true),
        "w+" => options.read(true).write(true).create(true).truncate(true),
        "wx+" | "xw+" => options.read(true).write(true).create_new(true),
        "a" | "as" => options.append(true).create(true),
        "ax" | "xa" => options.append(true).create_new(true),
        "a+" | "as+" => options.read(true).append(true).create(true),
        "ax+" => options.read(true).append(true).create_new(true),
        _ => return Err(format!("EINVAL: the flags '{flags}' are not valid, open ''")),
    };
    options.mode(mode & 0o777);
    Ok(options)
}

fn describe(about: &Metadata) -> Value {
    let kind = about.file_type();
    let milliseconds = |seconds: i64, nanoseconds: i64| seconds as f64 * 1000.0 + nanoseconds as f64 / 1e6;
    json!({
        "kind": match () {
            () if kind.is_dir() => "folder",
            () if kind.is_symlink() => "link",
            () if kind.is_file() => "file",
            () if kind.is_fifo() => "pipe",
            () if kind.is_socket() => "socket",
            () => "device",
        },
        "size": about.size(),
        "mode": about.mode(),
        "uid": about.uid(),
        "gid": about.gid(),
        "ino": about.ino(),
        "dev": about.dev(),
        "nlink": about.nlink(),
        "blocks": about.blocks(),
        "blksize": about.blksize(),
        "atimeMs": milliseconds(about.atime(), about.atime_nsec()),
        "mtimeMs": milliseconds(about.mtime(), about.mtime_nsec()),
        "ctimeMs": milliseconds(about.ctime(), about.ctime_nsec()),
        "birthtimeMs": about.created().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok())
            .map_or_else(|| milliseconds(about.ctime(), about.ctime_nsec()), |time| time.as_secs_f64() * 1000.0),
    })
}

fn thrown<T>(ctx: &Ctx<'_>, result: FileResult<T>) -> rquickjs::Result<T> {
    result.map_err(|message| Exception::throw_message(ctx, &message))
}

fn buffer<'js>(ctx: &Ctx<'js>, bytes: Vec<u8>) -> rquickjs::Result<ArrayBuffer<'js>> {
    // A copy counts as memory of the extension.
    ArrayBuffer::new_copy(ctx.clone(), bytes)
}

/// `native.files`.
pub(super) fn install<'js>(
    ctx: &Ctx<'js>,
    native: &Object<'js>,
    state: &Rc<RuntimeState>,
) -> rquickjs::Result<()> {
    let object = Object::new(ctx.clone())?;
    let all = Files(state.clone());
    macro_rules! define {
        ($name:literal, $files:ident, |$ctx:ident $(, $arg:ident : $kind:ty)*| $body:expr) => {{
            let $files = all.clone();
            object.set($name, Func::from(move |$ctx: Ctx<'js> $(, $arg: $kind)*| $body))?;
        }};
    }
    define!("read", files, |ctx, path: String| thrown(&ctx, files.read(&path))
        .and_then(|bytes| buffer(&ctx, bytes)));
    define!("write", files, |ctx, path: String, data: String, flags: String, mode: u32| {
        thrown(&ctx, files.write(&path, &bytes::from_text(&data), &flags, mode))
    });
    define!("stat", files, |ctx, path: String, follow: bool| {
        thrown(&ctx, files.stat(&path, follow)).map(|about| about.to_string())
    });
    define!("list", files, |ctx, path: String| thrown(&ctx, files.list(&path)).map(|list| list.to_string()));
    define!("makeFolder", files, |ctx, path: String, all: bool| thrown(&ctx, files.make_folder(&path, all)));
    define!("remove", files, |ctx, path: String, kind: String| thrown(&ctx, files.remove(&path, &kind)));
    define!("rename", files, |ctx, from: String, to: String| thrown(&ctx, files.rename(&from, &to)));
    define!("copy", files, |ctx, from: String, to: String, new: bool| thrown(
        &ctx,
        files.copy(&from, &to, new)
    ));
    define!("link", files, |ctx, target: String, path: String| thrown(&ctx, files.link(&target, &path)));
    define!("readLink", files, |ctx, path: String| thrown(&ctx, files.read_link(&path)));
    define!("realPath", files, |ctx, path: String| thrown(&ctx, files.real_path(&path)));
    define!("access", files, |ctx, path: String, mode: u32| thrown(&ctx, files.check_access(&path, mode)));
    define!("setMode", files, |ctx, path: String, mode: u32| thrown(&ctx, files.set_mode(&path, mode)));
    define!("setTimes", files, |ctx, path: String, accessed: f64, modified: f64| {
        thrown(&ctx, files.set_times(&path, accessed, modified))
    });
    define!("truncate", files, |ctx, path: String, length: f64| thrown(&ctx, files.truncate(&path, length)));
    define!("makeTemporary", files, |ctx, prefix: String| thrown(&ctx, files.make_temporary(&prefix)));
    define!("open", files, |ctx, path: String, flags: String, mode: u32| thrown(
        &ctx,
        files.open(&path, &flags, mode)
    ));
    define!("readOpen", files, |ctx, number: i32, length: f64, position: Opt<f64>| {
        thrown(&ctx, files.read_open(number, length, position.unwrap_or(-1.0)))
            .and_then(|bytes| buffer(&ctx, bytes))
    });
    define!("writeOpen", files, |ctx, number: i32, data: String, position: Opt<f64>| {
        thrown(&ctx, files.write_open(number, &bytes::from_text(&data), position.unwrap_or(-1.0)))
    });
    define!("statOpen", files, |ctx, number: i32| thrown(&ctx, files.stat_open(number))
        .map(|about| about.to_string()));
    define!("syncOpen", files, |ctx, number: i32| thrown(&ctx, files.sync_open(number)));
    define!("truncateOpen", files, |ctx, number: i32, length: f64| thrown(
        &ctx,
        files.truncate_open(number, length)
    ));
    define!("close", files, |ctx, number: i32| thrown(&ctx, files.close(number)));
    native.set("files", object)
}
