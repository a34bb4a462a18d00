//! Every case's output, compiled with warnings denied, and its types.
//!
//! Written by `UPDATE_CASES=1 cargo test -p contract-codegen --test cases_output`.
#![deny(warnings, clippy::all)]
#![allow(dead_code, reason = "what a case does not ask for is part of the output all the same")]
#![allow(clippy::redundant_comparisons, clippy::module_inception, reason = "the contracts are like that")]
#![allow(unexpected_cfgs, reason = "features of the crate that output usually belongs to")]
#![allow(deprecated, reason = "what a contract calls deprecated is asked for all the same")]

use crate::model::{Model, models};

#[path = "../cases/additional_false/expected/root.rs"]
pub mod additional_false;
#[path = "../cases/additional_typed/expected/root.rs"]
pub mod additional_typed;
#[path = "../cases/alias_of_base/expected/root.rs"]
pub mod alias_of_base;
#[path = "../cases/all_of_merge/expected/root.rs"]
pub mod all_of_merge;
#[path = "../cases/annotations/expected/root.rs"]
pub mod annotations;
#[path = "../cases/areas/expected/root.rs"]
pub mod areas;
#[path = "../cases/array_limits/expected/root.rs"]
pub mod array_limits;
#[path = "../cases/attributes/expected/root.rs"]
pub mod attributes;
#[path = "../cases/boolean_schemas/expected/root.rs"]
pub mod boolean_schemas;
#[path = "../cases/combined_types/expected/root.rs"]
pub mod combined_types;
#[path = "../cases/command_line/expected/root.rs"]
pub mod command_line;
#[path = "../cases/command_line_named/expected/root.rs"]
pub mod command_line_named;
#[path = "../cases/const_members/expected/root.rs"]
pub mod const_members;
#[path = "../cases/const_without_type/expected/root.rs"]
pub mod const_without_type;
#[path = "../cases/contains/expected/root.rs"]
pub mod contains;
#[path = "../cases/content_annotations/expected/root.rs"]
pub mod content_annotations;
#[path = "../cases/counts_settled/expected/root.rs"]
pub mod counts_settled;
#[path = "../cases/credentials/expected/root.rs"]
pub mod credentials;
#[path = "../cases/defaults/expected/root.rs"]
pub mod defaults;
#[path = "../cases/dependent_required/expected/root.rs"]
pub mod dependent_required;
#[path = "../cases/dependent_schemas/expected/root.rs"]
pub mod dependent_schemas;
#[path = "../cases/deprecated/expected/root.rs"]
pub mod deprecated;
#[path = "../cases/discriminator/expected/root.rs"]
pub mod discriminator;
#[path = "../cases/docs_odd_signs/expected/root.rs"]
pub mod docs_odd_signs;
#[path = "../cases/draft_04/expected/root.rs"]
pub mod draft_04;
#[path = "../cases/draft_07/expected/root.rs"]
pub mod draft_07;
#[path = "../cases/dynamic_ref/expected/root.rs"]
pub mod dynamic_ref;
#[path = "../cases/dynamic_ref_generic/expected/root.rs"]
pub mod dynamic_ref_generic;
#[path = "../cases/dynamic_ref_scope/expected/root.rs"]
pub mod dynamic_ref_scope;
#[path = "../cases/enum_all_of_ref/expected/root.rs"]
pub mod enum_all_of_ref;
#[path = "../cases/enum_case_clash/expected/root.rs"]
pub mod enum_case_clash;
#[path = "../cases/enum_mixed_null/expected/root.rs"]
pub mod enum_mixed_null;
#[path = "../cases/enum_odd_names/expected/root.rs"]
pub mod enum_odd_names;
#[path = "../cases/enum_open/expected/root.rs"]
pub mod enum_open;
#[path = "../cases/enum_rust_names/expected/root.rs"]
pub mod enum_rust_names;
#[path = "../cases/faults_negated/expected/root.rs"]
pub mod faults_negated;
#[path = "../cases/faults_operations/expected/root.rs"]
pub mod faults_operations;
#[path = "../cases/faults_paths/expected/root.rs"]
pub mod faults_paths;
#[path = "../cases/faults_patterns/expected/root.rs"]
pub mod faults_patterns;
#[path = "../cases/faults_references/expected/root.rs"]
pub mod faults_references;
#[path = "../cases/faults_schemas/expected/root.rs"]
pub mod faults_schemas;
#[path = "../cases/faults_yaml/expected/root.rs"]
pub mod faults_yaml;
#[path = "../cases/format_annotation/expected/root.rs"]
pub mod format_annotation;
#[path = "../cases/format_assertion/expected/root.rs"]
pub mod format_assertion;
#[path = "../cases/formats/expected/root.rs"]
pub mod formats;
#[path = "../cases/formats_chrono/expected/root.rs"]
pub mod formats_chrono;
#[path = "../cases/formats_time/expected/root.rs"]
pub mod formats_time;
#[path = "../cases/hangar/expected/root.rs"]
pub mod hangar;
#[path = "../cases/idempotency_keys/expected/root.rs"]
pub mod idempotency_keys;
#[path = "../cases/ids_repeated/expected/root.rs"]
pub mod ids_repeated;
#[path = "../cases/if_then_else/expected/root.rs"]
pub mod if_then_else;
#[path = "../cases/implied_objects/expected/root.rs"]
pub mod implied_objects;
#[path = "../cases/implied_otherwise/expected/root.rs"]
pub mod implied_otherwise;
#[path = "../cases/long_chain/expected/root.rs"]
pub mod long_chain;
#[path = "../cases/map_nullable/expected/root.rs"]
pub mod map_nullable;
#[path = "../cases/mutually_recursive/expected/root.rs"]
pub mod mutually_recursive;
#[path = "../cases/names_by_config/expected/root.rs"]
pub mod names_by_config;
#[path = "../cases/names_fields/expected/root.rs"]
pub mod names_fields;
#[path = "../cases/names_foreign/expected/root.rs"]
pub mod names_foreign;
#[path = "../cases/names_kept/expected/root.rs"]
pub mod names_kept;
#[path = "../cases/names_long/expected/root.rs"]
pub mod names_long;
#[path = "../cases/names_problem/expected/root.rs"]
pub mod names_problem;
#[path = "../cases/names_types/expected/root.rs"]
pub mod names_types;
#[path = "../cases/never_text/expected/root.rs"]
pub mod never_text;
#[path = "../cases/no_finite_value/expected/root.rs"]
pub mod no_finite_value;
#[path = "../cases/not_required/expected/root.rs"]
pub mod not_required;
#[path = "../cases/not_schema/expected/root.rs"]
pub mod not_schema;
#[path = "../cases/nullable_any_of/expected/root.rs"]
pub mod nullable_any_of;
#[path = "../cases/nullable_selected/expected/root.rs"]
pub mod nullable_selected;
#[path = "../cases/number_beyond_i64/expected/root.rs"]
pub mod number_beyond_i64;
#[path = "../cases/number_big_literals/expected/root.rs"]
pub mod number_big_literals;
#[path = "../cases/number_bounds/expected/root.rs"]
pub mod number_bounds;
#[path = "../cases/number_decimals/expected/root.rs"]
pub mod number_decimals;
#[path = "../cases/number_huge_bounds/expected/root.rs"]
pub mod number_huge_bounds;
#[path = "../cases/number_whole/expected/root.rs"]
pub mod number_whole;
#[path = "../cases/openapi_30/expected/root.rs"]
pub mod openapi_30;
#[path = "../cases/openapi_30_nullable/expected/root.rs"]
pub mod openapi_30_nullable;
#[path = "../cases/openapi_32/expected/root.rs"]
pub mod openapi_32;
#[path = "../cases/openapi_files/expected/root.rs"]
pub mod openapi_files;
#[path = "../cases/operations/expected/root.rs"]
pub mod operations;
#[path = "../cases/operations_all/expected/root.rs"]
pub mod operations_all;
#[path = "../cases/operations_apart/expected/root.rs"]
pub mod operations_apart;
#[path = "../cases/operations_odd/expected/root.rs"]
pub mod operations_odd;
#[path = "../cases/operations_unsendable/expected/root.rs"]
pub mod operations_unsendable;
#[path = "../cases/optional_not_nullable/expected/root.rs"]
pub mod optional_not_nullable;
#[path = "../cases/overlays/expected/root.rs"]
pub mod overlays;
#[path = "../cases/pages/expected/root.rs"]
pub mod pages;
#[path = "../cases/part_of_contract/expected/root.rs"]
pub mod part_of_contract;
#[path = "../cases/pattern_closed/expected/root.rs"]
pub mod pattern_closed;
#[path = "../cases/pattern_properties/expected/root.rs"]
pub mod pattern_properties;
#[path = "../cases/pattern_unchecked/expected/root.rs"]
pub mod pattern_unchecked;
#[path = "../cases/pattern_unchecked_inside/expected/root.rs"]
pub mod pattern_unchecked_inside;
#[path = "../cases/pattern_with_properties/expected/root.rs"]
pub mod pattern_with_properties;
#[path = "../cases/property_counts/expected/root.rs"]
pub mod property_counts;
#[path = "../cases/property_names/expected/root.rs"]
pub mod property_names;
#[path = "../cases/recursive/expected/root.rs"]
pub mod recursive;
#[path = "../cases/recursive_maps/expected/root.rs"]
pub mod recursive_maps;
#[path = "../cases/ref_absolute_id/expected/root.rs"]
pub mod ref_absolute_id;
#[path = "../cases/ref_anchor/expected/root.rs"]
pub mod ref_anchor;
#[path = "../cases/ref_metaschema/expected/root.rs"]
pub mod ref_metaschema;
#[path = "../cases/ref_pointer_escapes/expected/root.rs"]
pub mod ref_pointer_escapes;
#[path = "../cases/ref_relative_file/expected/root.rs"]
pub mod ref_relative_file;
#[path = "../cases/ref_siblings/expected/root.rs"]
pub mod ref_siblings;
#[path = "../cases/ref_through_ref/expected/root.rs"]
pub mod ref_through_ref;
#[path = "../cases/ref_union_narrowed/expected/root.rs"]
pub mod ref_union_narrowed;
#[path = "../cases/refine_base/expected/root.rs"]
pub mod refine_base;
#[path = "../cases/replaced/expected/root.rs"]
pub mod replaced;
#[path = "../cases/secrets/expected/root.rs"]
pub mod secrets;
#[path = "../cases/secrets_union/expected/root.rs"]
pub mod secrets_union;
#[path = "../cases/streams/expected/root.rs"]
pub mod streams;
#[path = "../cases/streams_typed/expected/root.rs"]
pub mod streams_typed;
#[path = "../cases/string_limits/expected/root.rs"]
pub mod string_limits;
#[path = "../cases/string_patterns/expected/root.rs"]
pub mod string_patterns;
#[path = "../cases/tri_state/expected/root.rs"]
pub mod tri_state;
#[path = "../cases/tuple_closed/expected/root.rs"]
pub mod tuple_closed;
#[path = "../cases/tuple_open/expected/root.rs"]
pub mod tuple_open;
#[path = "../cases/undeclared_in_conditions/expected/root.rs"]
pub mod undeclared_in_conditions;
#[path = "../cases/unevaluated_items/expected/root.rs"]
pub mod unevaluated_items;
#[path = "../cases/unevaluated_properties/expected/root.rs"]
pub mod unevaluated_properties;
#[path = "../cases/union_behind_all_of/expected/root.rs"]
pub mod union_behind_all_of;
#[path = "../cases/union_bool_tag/expected/root.rs"]
pub mod union_bool_tag;
#[path = "../cases/union_by_items/expected/root.rs"]
pub mod union_by_items;
#[path = "../cases/union_by_kind/expected/root.rs"]
pub mod union_by_kind;
#[path = "../cases/union_by_members/expected/root.rs"]
pub mod union_by_members;
#[path = "../cases/union_closed/expected/root.rs"]
pub mod union_closed;
#[path = "../cases/union_const_tag/expected/root.rs"]
pub mod union_const_tag;
#[path = "../cases/union_discriminated/expected/root.rs"]
pub mod union_discriminated;
#[path = "../cases/union_exactly_one/expected/root.rs"]
pub mod union_exactly_one;
#[path = "../cases/union_family/expected/root.rs"]
pub mod union_family;
#[path = "../cases/union_int_tag/expected/root.rs"]
pub mod union_int_tag;
#[path = "../cases/union_nested/expected/root.rs"]
pub mod union_nested;
#[path = "../cases/union_of_children/expected/root.rs"]
pub mod union_of_children;
#[path = "../cases/union_of_one/expected/root.rs"]
pub mod union_of_one;
#[path = "../cases/union_open/expected/root.rs"]
pub mod union_open;
#[path = "../cases/union_optional_tag/expected/root.rs"]
pub mod union_optional_tag;
#[path = "../cases/union_over_base/expected/root.rs"]
pub mod union_over_base;
#[path = "../cases/union_over_kinds/expected/root.rs"]
pub mod union_over_kinds;
#[path = "../cases/union_required_keys/expected/root.rs"]
pub mod union_required_keys;
#[path = "../cases/union_several_literals/expected/root.rs"]
pub mod union_several_literals;
#[path = "../cases/union_shared_base/expected/root.rs"]
pub mod union_shared_base;
#[path = "../cases/union_superset/expected/root.rs"]
pub mod union_superset;
#[path = "../cases/union_tag_behind_ref/expected/root.rs"]
pub mod union_tag_behind_ref;
#[path = "../cases/union_tag_rules/expected/root.rs"]
pub mod union_tag_rules;
#[path = "../cases/union_wider_branch/expected/root.rs"]
pub mod union_wider_branch;
#[path = "../cases/unique_items/expected/root.rs"]
pub mod unique_items;
#[path = "../cases/unknown_kept/expected/root.rs"]
pub mod unknown_kept;
#[path = "../cases/vendor/expected/root.rs"]
pub mod vendor;
#[path = "../cases/views/expected/root.rs"]
pub mod views;
#[path = "../cases/vocabulary/expected/root.rs"]
pub mod vocabulary;
#[path = "../cases/webhooks_only/expected/root.rs"]
pub mod webhooks_only;
#[path = "../cases/wire/expected/root.rs"]
pub mod wire;

/// The types of a case; `None` for a case that is not compiled.
pub fn models(case: &str) -> Option<Vec<Model>> {
    Some(match case {
        "additional_false" => models!(additional_false: Empty, Input),
        "additional_typed" => models!(additional_typed: Amount, Amounts, Input),
        "alias_of_base" => models!(alias_of_base: Named, Ship),
        "all_of_merge" => models!(all_of_merge: Input),
        "annotations" => models!(annotations: Input),
        "areas" => models!(areas: Id, Level, Org, Shared, Ship),
        "array_limits" => models!(array_limits: Input, Matrix, Row),
        "attributes" => models!(attributes: Amount, Colour, Input, Painted, Part, PartBolt, PartPlate, Size),
        "boolean_schemas" => models!(boolean_schemas: Input, Open),
        "combined_types" => models!(combined_types: Builder, Colour, IdOrName, Input, InputBuilder, InputListItem, Shape, ShapeBox, ShapeDot),
        "command_line" => models!(command_line: AddScanBody, Class, ListTicketsFare, Problem, Ticket),
        "command_line_named" => models!(command_line_named: AddNoteWhere, Note),
        "const_members" => models!(const_members: Input, InputVersion, Kind),
        "const_without_type" => models!(const_without_type: Input, InputText),
        "contains" => models!(contains: Input),
        "content_annotations" => models!(content_annotations: Input),
        "counts_settled" => models!(counts_settled: Input, InputAny, InputNever, InputNone, InputOne),
        "credentials" => models!(credentials: Refused),
        "defaults" => models!(defaults: Input, InputNested, InputUnit),
        "dependent_required" => models!(dependent_required: Input),
        "dependent_schemas" => models!(dependent_schemas: Input),
        "deprecated" => models!(deprecated: Input, InputEither, Kind, Part, Whole),
        "discriminator" => models!(discriminator: Cat, Derived, Dog, Pet),
        "docs_odd_signs" => models!(docs_odd_signs: BothD, Input, InputTurn),
        "draft_04" => models!(draft_04: Part, Placed, Root, RootPart),
        "draft_07" => models!(draft_07: Root, Short),
        "dynamic_ref" => models!(dynamic_ref: Root, Tree),
        "dynamic_ref_generic" => models!(dynamic_ref_generic: AddShipsBody, Item, Person, PersonPage),
        "dynamic_ref_scope" => models!(dynamic_ref_scope: Any, Element, Input, List),
        "enum_all_of_ref" => models!(enum_all_of_ref: Colour, Input),
        "enum_case_clash" => models!(enum_case_clash: Input, InputSize),
        "enum_mixed_null" => models!(enum_mixed_null: Input, InputAgain, InputFlag, InputFlagText, InputLevel, InputShape, InputShapeText, InputTwice, InputTwiceText),
        "enum_odd_names" => models!(enum_odd_names: Input),
        "enum_open" => models!(enum_open: Input, InputCode, InputLimited),
        "enum_rust_names" => models!(enum_rust_names: Input, InputName, InputOpen),
        "faults_negated" => models!(faults_negated: Input, InputEither, InputKept, InputPart, InputTagged, InputTaggedA, InputTaggedB, InputTitled, InputWord, Leaf, Node, NodeValue),
        "faults_operations" => models!(faults_operations: Name),
        "faults_paths" => models!(faults_paths: Name),
        "faults_patterns" => models!(faults_patterns: Input),
        "faults_references" => models!(faults_references: Either, EitherValue, Idle, Input, Second),
        "faults_schemas" => models!(faults_schemas: Idle, Input),
        "faults_yaml" => models!(faults_yaml: Base, Derived, ReadPhone),
        "format_annotation" => models!(format_annotation: Input, Link, Moment),
        "format_assertion" => models!(format_assertion: Booking, BookingKind, Id, Meta, Told),
        "formats" => models!(formats: Booking, BookingAny, BookingKind, Id),
        "formats_chrono" => models!(formats_chrono: Input),
        "formats_time" => models!(formats_time: Input),
        "hangar" => models!(hangar: IdempotencyKey, ManualRange, Other, Problem, Ship, ShipChangeSet, ShipPage),
        "idempotency_keys" => models!(idempotency_keys: Charge),
        "ids_repeated" => models!(ids_repeated: Input, Part, PartPart),
        "if_then_else" => models!(if_then_else: Input, InputUnit),
        "implied_objects" => models!(implied_objects: Input),
        "implied_otherwise" => models!(implied_otherwise: Any, AnyValue, Input, InputPlain),
        "long_chain" => models!(long_chain: Link00, Link01, Link02, Link03, Link04, Link05, Link06, Link07, Link08, Link09, Link10, Link11, Link12, Link13, Link14, Link15, Link16, Link17, Link18, Link19, Link20, Link21, Link22, Link23, Link24, Link25, Link26, Link27, Link28, Link29, Link30, Link31, Link32, Link33, Link34, Link35, Link36, Link37, Link38, Link39, Link40, Link41, Link42, Link43, Link44, Link45, Link46, Link47, Link48, Link49, Link50, Link51, Link52, Link53, Link54, Link55, Link56, Link57, Link58, Link59, Link60, Link61, Link62, Link63, Link64, Link65, Link66, Link67, Link68, Link69, Link70, Link71, Link72, Link73, Link74, Link75, Link76, Link77, Link78, Link79, Link80, Link81, Link82, Link83, Link84, Link85, Link86, Link87, Link88, Link89, Link90, Link91, Link92, Link93, Link94, Link95, Link96, Link97, Link98, Link99),
        "map_nullable" => models!(map_nullable: Input, Slot),
        "mutually_recursive" => models!(mutually_recursive: Arguments, Call, Expression, Literal),
        "names_by_config" => models!(names_by_config: Choice, Inner, Outer, Renamed),
        "names_fields" => models!(names_fields: Input, InputAt, InputExtra, InputFoundItem),
        "names_foreign" => models!(names_foreign: Input, InputUnit),
        "names_kept" => models!(names_kept: Input, Part, Size),
        "names_long" => models!(names_long: Input, TheLongestNameThatSomebodyGaveToWhatIsClosedInAContractOfTheirsAndKeptEverSince, TheLongestNameThatSomebodyGaveToWhatIsFirstInAContractOfTheirsAndKeptEverSince, TheLongestNameThatSomebodyGaveToWhatIsKindsInAContractOfTheirsAndKeptEverSince, TheLongestNameThatSomebodyGaveToWhatIsListInAContractOfTheirsAndKeptEverSince, TheLongestNameThatSomebodyGaveToWhatIsMapInAContractOfTheirsAndKeptEverSince, TheLongestNameThatSomebodyGaveToWhatIsOpenInAContractOfTheirsAndKeptEverSince, TheLongestNameThatSomebodyGaveToWhatIsSecondInAContractOfTheirsAndKeptEverSince, TheLongestNameThatSomebodyGaveToWhatIsTextInAContractOfTheirsAndKeptEverSince, TheLongestNameThatSomebodyGaveToWhatIsWordInAContractOfTheirsAndKeptEverSince),
        "names_problem" => models!(names_problem: Error, Input),
        "names_types" => models!(names_types: Contract, Default, Error, From, Input, InputInput, InputInputStockLot, InputStockLot, InputStockLot2, Key, Kind, Map, N1st, Option, Path, Read, Serialize, String, Tag, TagX, TagY, Undeclared, Validator, Violations),
        "never_text" => models!(never_text: Input),
        "no_finite_value" => models!(no_finite_value: Floor, Input, Link, List, Tower),
        "not_required" => models!(not_required: Input),
        "not_schema" => models!(not_schema: Input),
        "nullable_any_of" => models!(nullable_any_of: Input, InputFilesValue),
        "nullable_selected" => models!(nullable_selected: Input, InputSize, Owner),
        "number_beyond_i64" => models!(number_beyond_i64: Input, Serial),
        "number_big_literals" => models!(number_big_literals: Input),
        "number_bounds" => models!(number_bounds: Byte, Digit, Input),
        "number_decimals" => models!(number_decimals: Input),
        "number_huge_bounds" => models!(number_huge_bounds: Input),
        "number_whole" => models!(number_whole: Input, InputKind),
        "openapi_30" => models!(openapi_30: Berth, BerthShip, BerthState, Keeper, Problem),
        "openapi_30_nullable" => models!(openapi_30_nullable: Berth, BerthCargo, BerthLoad, BerthState, Boxes, Bulk, Maybe, MaybeValue, Ship),
        "openapi_32" => models!(openapi_32: Book, Disc, Filter, Medium, Paper, Search),
        "openapi_files" => models!(openapi_files: AB, Hull, Limit, Page, Text),
        "operations" => models!(operations: NewShip, NewShipHull, Problem, ProblemCode, ProblemErrorsItem, ReadShipWithItem, Ship, ShipId),
        "operations_all" => models!(operations_all: Filter, FindSku, FindWorkflow, Job, Note, Problem, Range, UploadBody, Wait),
        "operations_apart" => models!(operations_apart: Machine, NearTo, Stop),
        "operations_odd" => models!(operations_odd: Note, Problem, SearchType, UploadBody),
        "operations_unsendable" => models!(operations_unsendable: Note),
        "optional_not_nullable" => models!(optional_not_nullable: Input, InputObject),
        "overlays" => models!(overlays: Kind, Pet, Tag),
        "pages" => models!(pages: Books, Charge, Charges, Cursor, Event, Hooks, Parcel, ParcelPage, People, PeopleFound, PeopleLinks, Problem, Row, Rows, Search, Shelves, ShelvesMeta),
        "part_of_contract" => models!(part_of_contract: BoxesAddBody2, BoxesAddBody2Size, Cargo, CargoGas, CargoOre, CargoVariant3, CargoVariant3Kind, Hull, Named, Ship),
        "pattern_closed" => models!(pattern_closed: Alone, Input),
        "pattern_properties" => models!(pattern_properties: Input),
        "pattern_unchecked" => models!(pattern_unchecked: Input, Named, Twice),
        "pattern_unchecked_inside" => models!(pattern_unchecked_inside: Input, InputTagged, InputTaggedA, InputTaggedB),
        "pattern_with_properties" => models!(pattern_with_properties: Input),
        "property_counts" => models!(property_counts: Input, Map),
        "property_names" => models!(property_names: Codes, Input),
        "recursive" => models!(recursive: Input),
        "recursive_maps" => models!(recursive_maps: Input, Tree),
        "ref_absolute_id" => models!(ref_absolute_id: OddFileName, Root, Short),
        "ref_anchor" => models!(ref_anchor: A, C, Input, Other),
        "ref_metaschema" => models!(ref_metaschema: FormatAnnotation, FormatAnnotationObject, Input),
        "ref_pointer_escapes" => models!(ref_pointer_escapes: AB, CD, EF, GH, IJ, Input, KL),
        "ref_relative_file" => models!(ref_relative_file: Part, Root),
        "ref_siblings" => models!(ref_siblings: Count, Input, Name),
        "ref_through_ref" => models!(ref_through_ref: Body, Line, Root),
        "ref_union_narrowed" => models!(ref_union_narrowed: Event, EventJoined, EventLeft, Input, Label),
        "refine_base" => models!(refine_base: NotedPage, Page, Ship, ShipPage, Thing),
        "replaced" => models!(replaced: Input),
        "secrets" => models!(secrets: Input, Mode, NullableToken, Token),
        "secrets_union" => models!(secrets_union: Closed, Either, Event, Opened, Own, Step, StepStop, StepWait, Token),
        "streams" => models!(streams: Ask, Chunk, ChunkFinish, Day, Move, MoveEvent, Problem, Reply, WatchThreadResponse200Item),
        "streams_typed" => models!(streams_typed: Delta, Done, DoneData, Failed, MessageDelta, Problem, Run, RunEvent, Started, ToolCall, ToolCalled),
        "string_limits" => models!(string_limits: Input, Two),
        "string_patterns" => models!(string_patterns: Input, Slug),
        "tri_state" => models!(tri_state: Input, InputInner, InputLevel, Maybe, Name),
        "tuple_closed" => models!(tuple_closed: Input, Key, Pair),
        "tuple_open" => models!(tuple_open: Input),
        "undeclared_in_conditions" => models!(undeclared_in_conditions: Input, InputIfMember, InputNotMember, InputSettled),
        "unevaluated_items" => models!(unevaluated_items: Input),
        "unevaluated_properties" => models!(unevaluated_properties: Closed, Holder, Typed),
        "union_behind_all_of" => models!(union_behind_all_of: Colour, Input, InputColour, InputShape, InputShapeBox, InputShapeDot, Kind),
        "union_bool_tag" => models!(union_bool_tag: Input, InputOkFalse, InputOkTrue),
        "union_by_items" => models!(union_by_items: Input, InputInput, InputLists, InputListsObjectListItem, InputListsTextListItem),
        "union_by_kind" => models!(union_by_kind: Input, InputId, InputMaybe, InputMaybeText, InputValue, InputValueObject),
        "union_by_members" => models!(union_by_members: Area, AreaUnit, Cat, Dog, Fork, Input, InputNested, InputNestedUserOrOrg, InputOwner, InputPet, InputPets, InputPetsObject, InputPlace, InputPrice, InputPriceAmount, InputPricePercent, InputStrict, Large, Leaf, Org, Point, PointUnit, Small, Tree, User),
        "union_closed" => models!(union_closed: Event, EventJoined, EventLeft, Input),
        "union_const_tag" => models!(union_const_tag: Input, InputAdd, InputRemoveAll),
        "union_discriminated" => models!(union_discriminated: ByCode, ByLink, ByLinkWay, ByPassword, ByText, ByTextWay, Cat, Dog, Login, Pet, PetValue, Recovery),
        "union_exactly_one" => models!(union_exactly_one: Input),
        "union_family" => models!(union_family: Bird, BirdKind, Cat, Dog, Pet, PetBase, Puppy, Shelter),
        "union_int_tag" => models!(union_int_tag: Input, InputVersion1, InputVersion2, InputVersion3),
        "union_nested" => models!(union_nested: Input, Ship, Stock, StockArea, StockClear, StockSet),
        "union_of_children" => models!(union_of_children: Animal, Cat, Dog),
        "union_of_one" => models!(union_of_one: Input, Plain, SetQuantity),
        "union_open" => models!(union_open: Event, EventJoined, EventLeft, Input),
        "union_optional_tag" => models!(union_optional_tag: Bank, BankType, Category, Input, Internal, InternalType, Part, PartImage, PartImageKind, PartText, PartTextKind, Transfer),
        "union_over_base" => models!(union_over_base: Base, BesideRef, BesideRefA, BesideRefB, ByAllOf, ByAllOfA, ByAllOfB, ByAnyOf, ByAnyOfA, ByAnyOfB, ByEnum, ByEnumA, ByEnumVariant2, ByEnumVariant2Kind, Input, OneOfThem, OneOfThemA, OneOfThemB, OptionalInBase, Outside, OutsideA, OutsideB, OverOptional, OverOptionalA, OverOptionalB),
        "union_over_kinds" => models!(union_over_kinds: Hello, Input, Item, ItemOdd, Message, MessageHello, MessageLoose, MessageOdd),
        "union_required_keys" => models!(union_required_keys: Input),
        "union_several_literals" => models!(union_several_literals: Input, InputGone, Moved, MovedState, Stored, StoredState),
        "union_shared_base" => models!(union_shared_base: Input, InputBare, InputNamed),
        "union_superset" => models!(union_superset: Input, InputRadius, InputRadiusUnit, InputWidth),
        "union_tag_behind_ref" => models!(union_tag_behind_ref: Cat, CatTag, Dog, DogTag, Input),
        "union_tag_rules" => models!(union_tag_rules: In, Input, InputBeside, InputInside, InputInsideIn, InputInsideNever, InputInsideOut, Never, Out),
        "union_wider_branch" => models!(union_wider_branch: Input, List, Object, Tagged, TaggedX, TaggedY),
        "unique_items" => models!(unique_items: Input, InputObjectsItem),
        "unknown_kept" => models!(unknown_kept: Input, InputItemsItem),
        "vendor" => models!(vendor: Input, InputBy, InputFew, InputKind, InputMood, InputState, InputTold, InputTwin, Sky),
        "views" => models!(views: CrewPage, Dock, Member, Order, Ship, ShipPage, Side, Sort),
        "vocabulary" => models!(vocabulary: Loose, Meta, Root),
        "webhooks_only" => models!(webhooks_only: Event),
        "wire" => models!(wire: Cart, CartOwner, Codes, Item, ListOrdersCreated, Order, OrderCreated, OrderNote, OrderShipping, OrderShippingAddress, Range),
        _ => return None,
    })
}
