//! Reads the test cases of the suite. Numbers keep their exact value, and cases keep the order of their
//! files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use contract_runtime::Json;

use crate::cli::SchemaDraft;

impl SchemaDraft {
    /// All drafts, newest first.
    pub(super) const ALL: [Self; 3] = [Self::Latest, Self::Draft2019, Self::Draft7];

    /// Returns the name of the draft, such as `2020-12`.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Latest => "2020-12",
            Self::Draft2019 => "2019-09",
            Self::Draft7 => "7",
        }
    }

    /// Returns the folder of the cases, relative to the folder of the suite.
    pub(super) fn folder(self) -> String {
        format!("tests/draft{}", self.name())
    }

    /// Returns the `$schema` for schemas that do not have one, or `None` for the latest draft, which the
    /// generator uses by default.
    const fn default_schema_uri(self) -> Option<&'static str> {
        match self {
            Self::Latest => None,
            Self::Draft2019 => Some("https://json-schema.org/draft/2019-09/schema"),
            Self::Draft7 => Some("http://json-schema.org/draft-07/schema#"),
        }
    }
}

/// A part of the suite: its required cases, or one of two kinds of optional cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SuitePart {
    Required,
    Optional,
    /// Cases that test whether `format` is asserted.
    Format,
}

impl SuitePart {
    /// All parts, in the order of reports.
    pub(super) const ALL: [Self; 3] = [Self::Required, Self::Optional, Self::Format];

    /// Returns the name of the part in reports, such as `required`.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Optional => "optional",
            Self::Format => "format",
        }
    }

    /// Returns the folder of the part, relative to the folder of the draft, as a prefix of file names.
    const fn folder(self) -> &'static str {
        match self {
            Self::Required => "",
            Self::Optional => "optional/",
            Self::Format => "optional/format/",
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct SchemaGroup {
    pub(super) part: SuitePart,
    /// The path of the file, relative to the folder of the draft, such as `optional/bignum.json`.
    pub(super) file: String,
    pub(super) index: usize,
    pub(super) description: String,
    pub(super) schema: Json,
    pub(super) cases: Vec<SuiteCase>,
}

/// A value, and whether the schema accepts it.
#[derive(Clone, Debug)]
pub(super) struct SuiteCase {
    pub(super) description: String,
    pub(super) data: Json,
    pub(super) valid: bool,
}

/// Reads all groups of a draft, sorted by part and file name, and within a file in its order.
///
/// # Errors
/// Returns an error if a file cannot be read or does not have the format of the suite.
pub(super) fn read_groups(suite: &Path, draft: SchemaDraft) -> Result<Vec<SchemaGroup>, String> {
    let mut groups = Vec::new();
    for part in SuitePart::ALL {
        let folder = suite.join(draft.folder()).join(part.folder());
        for path in
            json_files(&folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?
        {
            let of_path = |what: String| format!("{}: {what}", path.display());
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let text = fs::read(&path).map_err(|error| of_path(error.to_string()))?;
            let json = Json::parse(&text).map_err(|error| of_path(error.to_string()))?;
            let file = format!("{}{name}", part.folder());
            groups.extend(parse_groups(part, &file, &json).map_err(of_path)?);
        }
    }
    for group in &mut groups {
        set_default_schema(&mut group.schema, draft);
    }
    Ok(groups)
}

/// Adds the draft's `$schema` to a schema that has none.
fn set_default_schema(schema: &mut Json, draft: SchemaDraft) {
    if let (Some(name), Json::Object(members)) = (draft.default_schema_uri(), schema)
        && !members.contains_key("$schema")
    {
        members.insert("$schema".to_owned(), Json::String(name.to_owned()));
    }
}

/// Returns the JSON files of a folder, sorted by name.
fn json_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
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

fn parse_groups(part: SuitePart, file: &str, json: &Json) -> Result<Vec<SchemaGroup>, String> {
    let groups = json.as_array().ok_or("not an array of groups")?;
    let group = |(index, group): (usize, &Json)| {
        let cases = required_member(group, "tests")?.as_array().ok_or("`tests` is not an array")?;
        Ok(SchemaGroup {
            part,
            file: file.to_owned(),
            index,
            description: required_string(group, "description")?,
            schema: required_member(group, "schema")?.clone(),
            cases: cases.iter().map(parse_case).collect::<Result<_, String>>()?,
        })
    };
    groups.iter().enumerate().map(group).collect()
}

fn parse_case(json: &Json) -> Result<SuiteCase, String> {
    let Json::Bool(valid) = required_member(json, "valid")? else {
        return Err("`valid` is not a boolean".to_owned());
    };
    Ok(SuiteCase {
        description: required_string(json, "description")?,
        data: required_member(json, "data")?.clone(),
        valid: *valid,
    })
}

fn required_member<'j>(json: &'j Json, name: &str) -> Result<&'j Json, String> {
    json.as_object().and_then(|members| members.get(name)).ok_or_else(|| format!("`{name}` is missing"))
}

fn required_string(json: &Json, name: &str) -> Result<String, String> {
    Ok(required_member(json, name)?.as_str().ok_or_else(|| format!("`{name}` is not a string"))?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_file_index_and_exact_numbers() {
        let text = br#"[{"description": "a", "schema": true, "tests": []},
            {"description": "b", "schema": {"maximum": 18446744073709551600.5},
             "tests": [{"description": "c", "data": 1.0, "valid": true}]}]"#;
        let groups =
            parse_groups(SuitePart::Optional, "optional/x.json", &Json::parse(text).unwrap()).unwrap();
        let [_, group] = groups.as_slice() else { panic!("{groups:?}") };
        assert_eq!((group.index, group.file.as_str()), (1, "optional/x.json"));
        assert_eq!(group.schema.to_string(), r#"{"maximum":18446744073709551600.5}"#);
        assert_eq!((group.cases[0].data.to_string().as_str(), group.cases[0].valid), ("1.0", true));
    }

    #[test]
    fn default_schema_is_set_for_older_drafts() {
        let with_default = |text: &[u8], draft| {
            let mut schema = Json::parse(text).unwrap();
            set_default_schema(&mut schema, draft);
            schema.to_string()
        };
        assert_eq!(with_default(b"{}", SchemaDraft::Latest), "{}");
        assert_eq!(with_default(b"true", SchemaDraft::Draft7), "true");
        assert_eq!(with_default(br#"{"$schema":"x"}"#, SchemaDraft::Draft7), r#"{"$schema":"x"}"#);
        assert_eq!(
            with_default(b"{}", SchemaDraft::Draft7),
            r#"{"$schema":"http://json-schema.org/draft-07/schema#"}"#
        );
    }

    #[test]
    fn invalid_suite_file_is_rejected() {
        let parse_error = |text: &[u8]| {
            parse_groups(SuitePart::Required, "x.json", &Json::parse(text).unwrap()).unwrap_err()
        };
        assert_eq!(parse_error(b"{}"), "not an array of groups");
        assert_eq!(parse_error(br#"[{"description": "a"}]"#), "`tests` is missing");
        assert_eq!(
            parse_error(br#"[{"description": "a", "schema": true, "tests": [{"valid": 1}]}]"#),
            "`valid` is not a boolean"
        );
    }
}
