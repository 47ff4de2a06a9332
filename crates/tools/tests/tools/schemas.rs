//! What models are told about the tools, to the letter: it is part of every prompt, so it changes on purpose only.

use expect_test::expect;
use osier_tools::{Toolbox, Tools};

fn spec(name: &str) -> String {
    let spec = Tools::standard().specs().into_iter().find(|spec| spec.name == name).unwrap();
    format!("{:?}\n{}\n{:#}\n", spec.kind, spec.description, spec.parameters)
}

#[test]
fn the_standard_tools_and_their_order() {
    let names: Vec<String> = Tools::standard().specs().into_iter().map(|spec| spec.name).collect();
    assert_eq!(names, ["read", "write", "edit", "bash", "grep", "find", "ls", "todo"]);
}

#[test]
fn read() {
    expect![[r#"
        Reads
        Shows a text file, or an image (PNG, JPEG, GIF, WebP). At most 2000 lines or 50 KB of text come at once; when more is left, the result says with which offset to go on. Read a file before you change it. To look for something in many files, grep is quicker.
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
              "description": "Number of the first line to show, from 1."
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
        Writes a whole file: a new one, with its folders, or another content for an old one. What was in the old file is lost, so it must have been read before. To change a part of a file, use edit.
        {
          "type": "object",
          "properties": {
            "path": {
              "type": "string",
              "description": "The file, relative to the project or absolute."
            },
            "content": {
              "type": "string",
              "description": "All that shall be in the file."
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
        Replaces exact pieces of text in one file. Each oldText must be in the file exactly once, with its whitespace and line breaks; take a few lines around it to make it unique, no more. All edits refer to the file as it is now and must not overlap; if one does not fit, nothing is changed. Put all changes of a file into one call.
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
              "description": "What to replace; one or more.",
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
        Runs a command line with bash in the project's folder and shows what it prints, both streams together. Every call starts a new shell, so a cd or a variable does not last. There is no terminal and no input: use flags that answer questions beforehand. Of a long output the last 2000 lines or 50 KB come back, and the name of a file that holds all of it. Commands are stopped after 300 seconds unless timeout says otherwise. What must keep running, such as a server, goes to the background with & and lives on after the call.
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
              "description": "Seconds after which it is stopped; 300 if not given, 3600 at most."
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
        Searches the lines of files for a regular expression (Rust syntax, line by line) and shows each match with its line number. Files that .gitignore names, hidden files and binary files are left out. At most 100 matches come back unless limit says otherwise.
        {
          "type": "object",
          "properties": {
            "pattern": {
              "type": "string",
              "description": "The regular expression, or plain text with literal."
            },
            "path": {
              "type": "string",
              "description": "A folder or file to search; the project if not given."
            },
            "glob": {
              "type": "string",
              "description": "Only files whose name matches, such as *.rs, or whose path below the folder does, such as src/**/*.ts."
            },
            "ignoreCase": {
              "type": "boolean",
              "description": "Upper and lower case are the same."
            },
            "literal": {
              "type": "boolean",
              "description": "The pattern is plain text."
            },
            "context": {
              "type": "integer",
              "minimum": 0,
              "description": "Lines to show before and after each match."
            },
            "limit": {
              "type": "integer",
              "minimum": 1,
              "description": "Most matches to show; 100 if not given."
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
        Finds files and folders by name with a glob. A glob without a slash, such as *.test.ts, matches names at any depth; one with a slash, such as src/**/mod.rs, matches paths below the folder. Files that .gitignore names and hidden files are left out. At most 1000 names come back unless limit says otherwise.
        {
          "type": "object",
          "properties": {
            "pattern": {
              "type": "string",
              "description": "The glob."
            },
            "path": {
              "type": "string",
              "description": "The folder to search; the project if not given."
            },
            "limit": {
              "type": "integer",
              "minimum": 1,
              "description": "Most names to show; 1000 if not given."
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
        Lists a folder, hidden files included: folders end with a slash, links show where they lead. Files that .gitignore names are left out unless all is true. At most 500 names come back unless limit says otherwise.
        {
          "type": "object",
          "properties": {
            "path": {
              "type": "string",
              "description": "The folder; the project if not given."
            },
            "limit": {
              "type": "integer",
              "minimum": 1,
              "description": "Most names to show; 500 if not given."
            },
            "all": {
              "type": "boolean",
              "description": "List what .gitignore names too."
            }
          }
        }
    "#]].assert_eq(&spec("ls"));
}

#[test]
fn todo() {
    expect![[r#"
        Neutral
        Sets your list of things to do, which the user sees too. Each call gives the whole list anew. Use it for work of several steps: one item in_progress at a time, completed as soon as it is done. Leave it alone for small tasks.
        {
          "type": "object",
          "properties": {
            "items": {
              "type": "array",
              "items": {
                "description": "One thing to do.",
                "type": "object",
                "properties": {
                  "content": {
                    "description": "What is to be done, in a few words.",
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
              "description": "All items, in their order; an empty list clears it."
            }
          },
          "required": [
            "items"
          ]
        }
    "#]].assert_eq(&spec("todo"));
}
