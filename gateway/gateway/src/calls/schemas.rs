//! Schemas of parameters and bodies. What they allow is taken, and what they do not allow is refused, as far as a schema can say
//! it: it cannot say that a time is out of range in the unit of `precision` alone.

use serde_json::json;
use utoipa::{
    Number, PartialSchema, ToSchema,
    openapi::{
        ArrayBuilder, ObjectBuilder, RefOr, Schema,
        extensions::Extensions,
        schema::{AdditionalProperties, OneOfBuilder, SchemaType, Type},
    },
};

use crate::{ingest::TOPIC_MAX_BYTES, queries::aggregate::Aggregate};

/// Types that only have a schema.
macro_rules! schemas {
    ($($(#[doc = $doc:literal])* $name:ident = $schema:expr;)*) => {$(
        $(#[doc = $doc])*
        pub(crate) struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                $schema.into()
            }
        }

        impl ToSchema for $name {}
    )*};
}

schemas! {
    /// A topic's name, as `ingest::check_topic` takes it: not `.` or `..`.
    Topic = text()
        .pattern(Some(r"^(?:[A-Za-z0-9_-]|\.[A-Za-z0-9_-]|\.\.[A-Za-z0-9._-])[A-Za-z0-9._-]*$"))
        .max_length(Some(TOPIC_MAX_BYTES));
    /// A unit of time, as `Precision::from_name` takes it.
    PrecisionName = text().enum_values(Some(["ns", "n", "us", "u", "ms", "s"]));
    /// A database of InfluxDB, or a bucket, that stands for a topic: `topic` or `topic/policy`.
    Database = text()
        .pattern(Some(r"^(?:[A-Za-z0-9_-]|\.[A-Za-z0-9_-]|\.\.[A-Za-z0-9._-])[A-Za-z0-9._-]*(?:/[A-Za-z0-9._-]*)?$"))
        .max_length(Some(TOPIC_MAX_BYTES));
    Policy = text().pattern(Some("^[A-Za-z0-9._-]*$")).max_length(Some(TOPIC_MAX_BYTES));
    /// A statement of the only kind that is answered.
    CreateDatabase = text()
        .pattern(Some(r#"^CREATE DATABASE "(?:[A-Za-z0-9_-]|\.[A-Za-z0-9_-])[A-Za-z0-9._-]{0,190}"$"#));
    V1Precision = text().enum_values(Some(["", "n", "ns", "u", "us", "ms", "s", "m", "h"]));
    V2Precision = text().enum_values(Some(["", "ns", "us", "ms", "s"]));
    V3Precision =
        text().enum_values(Some(["", "auto", "nanosecond", "microsecond", "millisecond", "second"]));
    Consistency = text().enum_values(Some(["", "all", "any", "one", "quorum"]));
    TrueOrFalse = text().enum_values(Some(["", "true", "false"]));
    /// Names separated by commas, at least one.
    Names = text().pattern(Some("^[^,]+(?:,[^,]+)*$"));
    /// Any text but an empty one.
    NonEmpty = text().min_length(Some(1));
    AggregateName = text().enum_values(Some(Aggregate::names()));
    /// A duration of more than 0 and less than a year, with its unit.
    WindowLength = text().pattern(Some(concat!(
        r"^(?:[1-9][0-9]{0,9}(?:\.[0-9]{1,3})?(?:ns|us|ms)|[1-9][0-9]{0,6}(?:\.[0-9]{1,3})?s",
        r"|[1-9][0-9]{0,4}(?:\.[0-9]{1,3})?m|(?:[1-7][0-9]{3}|[1-9][0-9]{0,2})(?:\.[0-9]{1,3})?h)$",
    )));
    /// Nanoseconds since 1970.
    Nanoseconds = integer(isize::MIN, isize::MAX);
    /// A count or position.
    FromZero = integer(0, isize::MAX);
    FromOne = integer(1, isize::MAX);
    /// A record, or an array of them.
    JsonRecords = OneOfBuilder::new()
        .item(JsonRecord::schema())
        .item(ArrayBuilder::new().items(JsonRecord::schema()).min_items(Some(1)));
    JsonRecord = ObjectBuilder::new()
        .property("measurement", name().pattern(Some(r"^[^#\n](?:[^\n]*[^\n\\])?$")))
        .property(
            "tags",
            ObjectBuilder::new()
                .property_names(Some(Schema::Object(name().build())))
                .additional_properties(Some(Schema::Object(name().build()))),
        )
        .property("fields", fields())
        .property("time", time())
        .required("measurement")
        .required("fields")
        .additional_properties(Some(AdditionalProperties::FreeForm(false)));
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn integer(min: isize, max: isize) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(Number::Int(min)))
        .maximum(Some(Number::Int(max)))
}

/// A name that line protocol can express: not empty, without line breaks, no backslash at its end.
fn name() -> ObjectBuilder {
    text().pattern(Some(r"^[^\n]*[^\n\\]$"))
}

/// Values by key, of which at least one is not null: a field that is null is absent.
fn fields() -> ObjectBuilder {
    let types = [Type::Number, Type::String, Type::Boolean, Type::Null];
    let value = ObjectBuilder::new()
        .schema_type(SchemaType::from_iter(types))
        .minimum(Some(Number::Int(isize::MIN)))
        .maximum(Some(Number::UInt(usize::MAX)));
    let not_all_null = json!({ "additionalProperties": { "type": "null" } });
    ObjectBuilder::new()
        .property_names(Some(Schema::Object(name().build())))
        .additional_properties(Some(Schema::Object(value.build())))
        // utoipa has no `not`; what it calls extensions are further members of the schema.
        .extensions(Some(Extensions::from_iter([("not", not_all_null)])))
}

/// An integer in the unit of `precision`, or a text as in RFC 3339 between the years 1700 and 2199.
fn time() -> OneOfBuilder {
    const TEXT: &str = concat!(
        r"^(?:1[7-9]|2[01])[0-9]{2}-",
        r"(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))",
        r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?(?:Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])$",
    );
    OneOfBuilder::new()
        .item(integer(isize::MIN + 2, isize::MAX - 1))
        .item(text().pattern(Some(TEXT)))
}
