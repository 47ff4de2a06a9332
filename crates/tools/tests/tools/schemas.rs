//! The exact tool descriptions and schemas. They are part of every request, so they must not change by accident.

use expect_test::expect;
use osier_tools::{ToolSet, Toolbox};

fn spec(name: &str) -> String {
    let spec = ToolSet::standard().specs().into_iter().find(|spec| spec.name == name).unwrap();
    format!("{:?}\n{}\n{:#}\n", spec.kind, spec.description, spec.parameters)
}

#[test]
fn standard_tools_are_in_a_fixed_order() {
    let names: Vec<String> = ToolSet::standard().specs().into_iter().map(|spec| spec.name).collect();
    assert_eq!(names, ["read", "write", "edit", "bash", "grep", "find", "ls", "todo"]);
}

#[test]
fn read() {
    expect![[r#"
        Reads
        Reads a text file or an image (PNG, JPEG, GIF, WebP). Returns at most 2000 lines or 50 KB of text; if more is left, the result says which offset to continue with. Read a file before you change it. To search many files, use grep.
        {
          "type": "object",
          "properties": {
            "path": {
              "type": "string",
              "description": "The file, relative to the project or absolute."
            },
            "offset": {
              "type": "integer",
              "minimum": 1,
              "description": "The number of the first line to show, from 1."
            },
            "limit": {
              "type": "integer",
              "minimum": 1,
              "description": "How many lines to show."
            }
          },
          "required": [
            "path"
          ]
        }
    "#]].assert_eq(&spec("read"));
}

#[test]
fn write() {
    expect![[r#"
        Writes
        Writes a whole file: creates it with any missing folders, or replaces its content. The old content is lost, so read an existing file first. To change part of a file, use edit.
        {
          "type": "object",
          "properties": {
            "path": {
              "type": "string",
              "description": "The file, relative to the project or absolute."
            },
            "content": {
              "type": "string",
              "description": "The full content of the file."
            }
          },
          "required": [
            "path",
            "content"
          ]
        }
    "#]].assert_eq(&spec("write"));
}

#[test]
fn edit() {
    expect![[r#"
        Writes
        Replaces exact text in one file. Each oldText must occur in the file exactly once, including whitespace and line breaks; add a few surrounding lines to make it unique, but no more. All edits apply to the file as it is now and must not overlap; if one does not match, nothing is changed. Put all changes to a file into one call.
        {
          "type": "object",
          "properties": {
            "path": {
              "type": "string",
              "description": "The file, relative to the project or absolute."
            },
            "edits": {
              "type": "array",
              "items": {
                "type": "object",
                "properties": {
                  "oldText": {
                    "description": "The text to replace, exactly as it is in the file.",
                    "type": "string"
                  },
                  "newText": {
                    "description": "The text to put in its place; empty to remove it.",
                    "type": "string"
                  }
                },
                "required": [
                  "oldText",
                  "newText"
                ]
              },
              "description": "The replacements; at least one.",
              "minItems": 1
            }
          },
          "required": [
            "path",
            "edits"
          ]
        }
    "#]].assert_eq(&spec("edit"));
}

#[test]
fn bash() {
    expect![[r#"
        Runs
        Runs a command line with bash in the project folder and returns its output, stdout and stderr combined. Each call starts a new shell, so cd and variables do not persist. There is no terminal and no input: use flags that avoid prompts. Long output is cut to the last 2000 lines or 50 KB, with the name of a file that contains all of it. Commands are stopped after 300 seconds unless timeout is set. Start anything that must keep running, such as a server, in the background with &; it continues after the call.
        {
          "type": "object",
          "properties": {
            "command": {
              "type": "string",
              "description": "The command line."
            },
            "timeout": {
              "type": "integer",
              "minimum": 1,
              "description": "Seconds after which the command is stopped; 300 by default, at most 3600."
            }
          },
          "required": [
            "command"
          ]
        }
    "#]].assert_eq(&spec("bash"));
}

#[test]
fn grep() {
    expect![[r#"
        Reads
        Searches files line by line for a regular expression (Rust syntax) and shows each match with its line number. Ignored (.gitignore), hidden and binary files are skipped. Returns at most 100 matches unless limit is set.
        {
          "type": "object",
          "properties": {
            "pattern": {
              "type": "string",
              "description": "The regular expression, or plain text if literal is true."
            },
            "path": {
              "type": "string",
              "description": "The folder or file to search; the project by default."
            },
            "glob": {
              "type": "string",
              "description": "Search only files whose name matches, such as *.rs, or whose path below the folder matches, such as src/**/*.ts."
            },
            "ignoreCase": {
              "type": "boolean",
              "description": "Ignore case."
            },
            "literal": {
              "type": "boolean",
              "description": "Treat the pattern as plain text."
            },
            "context": {
              "type": "integer",
              "minimum": 0,
              "description": "Lines to show before and after each match."
            },
            "limit": {
              "type": "integer",
              "minimum": 1,
              "description": "The maximum number of matches; 100 by default."
            },
            "hidden": {
              "type": "boolean",
              "description": "Search hidden files too."
            }
          },
          "required": [
            "pattern"
          ]
        }
    "#]].assert_eq(&spec("grep"));
}

#[test]
fn find() {
    expect![[r#"
        Reads
        Finds files and folders by name with a glob. A glob without a slash, such as *.test.ts, matches names at any depth; one with a slash, such as src/**/mod.rs, matches paths below the folder. Ignored (.gitignore) and hidden files are skipped. Returns at most 1000 names unless limit is set.
        {
          "type": "object",
          "properties": {
            "pattern": {
              "type": "string",
              "description": "The glob."
            },
            "path": {
              "type": "string",
              "description": "The folder to search; the project by default."
            },
            "limit": {
              "type": "integer",
              "minimum": 1,
              "description": "The maximum number of names; 1000 by default."
            },
            "hidden": {
              "type": "boolean",
              "description": "Find hidden files too."
            }
          },
          "required": [
            "pattern"
          ]
        }
    "#]].assert_eq(&spec("find"));
}

#[test]
fn ls() {
    expect![[r#"
        Reads
        Lists a folder, including hidden files: folders end with a slash, links show their target. Files ignored by .gitignore are skipped unless all is true. Returns at most 500 names unless limit is set.
        {
          "type": "object",
          "properties": {
            "path": {
              "type": "string",
              "description": "The folder; the project by default."
            },
            "limit": {
              "type": "integer",
              "minimum": 1,
              "description": "The maximum number of names; 500 by default."
            },
            "all": {
              "type": "boolean",
              "description": "Also list files ignored by .gitignore."
            }
          }
        }
    "#]].assert_eq(&spec("ls"));
}

#[test]
fn todo() {
    expect![[r#"
        Neutral
        Sets your to-do list, which the user also sees. Each call replaces the whole list. Use it for work with several steps: keep one item in_progress at a time, and mark it completed as soon as it is done. Do not use it for small tasks.
        {
          "type": "object",
          "properties": {
            "items": {
              "type": "array",
              "items": {
                "description": "A to-do item.",
                "type": "object",
                "properties": {
                  "content": {
                    "description": "What to do, in a few words.",
                    "type": "string"
                  },
                  "status": {
                    "type": "string",
                    "enum": [
                      "pending",
                      "in_progress",
                      "completed"
                    ]
                  }
                },
                "required": [
                  "content",
                  "status"
                ]
              },
              "description": "All items in order; an empty list clears it."
            }
          },
          "required": [
            "items"
          ]
        }
    "#]].assert_eq(&spec("todo"));
}
