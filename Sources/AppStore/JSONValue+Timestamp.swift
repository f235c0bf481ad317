package import StrictJSON

extension JSONValue {
    /// A date in Apple's form, milliseconds since 1970.
    package static func timestamp(_ value: Timestamp) -> JSONValue {
        .number(JSONNumber(value.millisecondsSince1970))
    }
}
