//! The suite as it lies on disk, read into plain data: numbers exact, order as it came.

use std::{
    fs,
    path::{Path, PathBuf},
};

use contract_runtime::Json;

use crate::cli::Draft;

impl Draft {
    /// All, the latest first.
    pub(super) const ALL: [Self; 3] = [Self::Latest, Self::Draft2019, Self::Draft7];

    /// `2020-12`
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Latest => "2020-12",
            Self::Draft2019 => "2019-09",
            Self::Draft7 => "7",
        }
    }

    /// Its cases, below the suite.
    pub(super) fn folder(self) -> String {
        format!("tests/draft{}", self.name())
    }

    /// What `$schema` has to be where a schema says nothing: the generator's own default is the
    /// latest, the suite's that of the folder.
    const fn schema(self) -> Option<&'static str> {
        match self {
            Self::Latest => None,
            Self::Draft2019 => Some("https://json-schema.org/draft/2019-09/schema"),
            Self::Draft7 => Some("http://json-schema.org/draft-07/schema#"),
        }
    }
}

/// What the suite demands of an implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// Of every one.
    Required,
    /// Of those that do more, one file for each feature.
    Optional,
    /// Of those that assert `format`.
    Format,
}

impl Part {
    /// All, in the order of reports.
    pub(super) const ALL: [Self; 3] = [Self::Required, Self::Optional, Self::Format];

    /// The word for it: `required`.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Optional => "optional",
            Self::Format => "format",
        }
    }

    /// The folder below the draft's, as it stands before a file's name.
    const fn folder(self) -> &'static str {
        match self {
            Self::Required => "",
            Self::Optional => "optional/",
            Self::Format => "optional/format/",
        }
    }
}

/// A schema and what it says about values.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) part: Part,
    /// `optional/bignum.json`
    pub(super) file: String,
    /// Position in the file.
    pub(super) index: usize,
    pub(super) description: String,
    pub(super) schema: Json,
    pub(super) cases: Vec<Case>,
}

/// A value, and whether it is valid.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) description: String,
    pub(super) data: Json,
    pub(super) valid: bool,
}

/// Reads every group of the draft, by part, file and position.
///
/// # Errors
/// When a file cannot be read, or is not made as the suite's files are.
pub(super) fn read(suite: &Path, draft: Draft) -> Result<Vec<Group>, String> {
    let mut groups = Vec::new();
    for part in Part::ALL {
        let folder = suite.join(draft.folder()).join(part.folder());
        for path in files(&folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))? {
            let of_path = |what: String| format!("{}: {what}", path.display());
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let text = fs::read(&path).map_err(|error| of_path(error.to_string()))?;
            let json = Json::parse(&text).map_err(|error| of_path(error.to_string()))?;
            let file = format!("{}{name}", part.folder());
            groups.extend(of_file(part, &file, &json).map_err(of_path)?);
        }
    }
    for group in &mut groups {
        name_draft(&mut group.schema, draft);
    }
    Ok(groups)
}

/// Says which draft a schema is of, where it does not.
fn name_draft(schema: &mut Json, draft: Draft) {
    if let (Some(name), Json::Object(members)) = (draft.schema(), schema)
        && !members.contains_key("$schema")
    {
        members.insert("$schema".to_owned(), Json::String(name.to_owned()));
    }
}

/// The JSON files of a folder, by name.
fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn of_file(part: Part, file: &str, json: &Json) -> Result<Vec<Group>, String> {
    let groups = json.as_array().ok_or("not an array of groups")?;
    let group = |(index, group): (usize, &Json)| {
        let cases = member(group, "tests")?.as_array().ok_or("`tests` is no array")?;
        Ok(Group {
            part,
            file: file.to_owned(),
            index,
            description: text(group, "description")?,
            schema: member(group, "schema")?.clone(),
            cases: cases.iter().map(of_case).collect::<Result<_, String>>()?,
        })
    };
    groups.iter().enumerate().map(group).collect()
}

fn of_case(json: &Json) -> Result<Case, String> {
    let Json::Bool(valid) = member(json, "valid")? else { return Err("`valid` is no boolean".to_owned()) };
    Ok(Case { description: text(json, "description")?, data: member(json, "data")?.clone(), valid: *valid })
}

fn member<'j>(json: &'j Json, name: &str) -> Result<&'j Json, String> {
    json.as_object().and_then(|members| members.get(name)).ok_or_else(|| format!("no `{name}`"))
}

fn text(json: &Json, name: &str) -> Result<String, String> {
    Ok(member(json, name)?.as_str().ok_or_else(|| format!("`{name}` is no text"))?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_keep_their_file_their_place_and_exact_numbers() {
        let text = br#"[{"description": "a", "schema": true, "tests": []},
            {"description": "b", "schema": {"maximum": 18446744073709551600.5},
             "tests": [{"description": "c", "data": 1.0, "valid": true}]}]"#;
        let groups = of_file(Part::Optional, "optional/x.json", &Json::parse(text).unwrap()).unwrap();
        let [_, group] = groups.as_slice() else { panic!("{groups:?}") };
        assert_eq!((group.index, group.file.as_str()), (1, "optional/x.json"));
        assert_eq!(group.schema.to_string(), r#"{"maximum":18446744073709551600.5}"#);
        assert_eq!((group.cases[0].data.to_string().as_str(), group.cases[0].valid), ("1.0", true));
    }

    #[test]
    fn older_drafts_are_named() {
        let named = |text: &[u8], draft| {
            let mut schema = Json::parse(text).unwrap();
            name_draft(&mut schema, draft);
            schema.to_string()
        };
        assert_eq!(named(b"{}", Draft::Latest), "{}");
        assert_eq!(named(b"true", Draft::Draft7), "true");
        assert_eq!(named(br#"{"$schema":"x"}"#, Draft::Draft7), r#"{"$schema":"x"}"#);
        assert_eq!(named(b"{}", Draft::Draft7), r#"{"$schema":"http://json-schema.org/draft-07/schema#"}"#);
    }

    #[test]
    fn a_file_that_is_none_of_the_suite_is_refused() {
        let refused =
            |text: &[u8]| of_file(Part::Required, "x.json", &Json::parse(text).unwrap()).unwrap_err();
        assert_eq!(refused(b"{}"), "not an array of groups");
        assert_eq!(refused(br#"[{"description": "a"}]"#), "no `tests`");
        assert_eq!(
            refused(br#"[{"description": "a", "schema": true, "tests": [{"valid": 1}]}]"#),
            "`valid` is no boolean"
        );
    }
}
