import StrictJSON

extension JSONValue {
    /// The text; nil of another value.
    var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The integer; nil of another value.
    var integer: Int64? {
        if case .number(let number) = self { number.int64 } else { nil }
    }

    /// The truth value; nil of another value.
    var flag: Bool? {
        if case .bool(let flag) = self { flag } else { nil }
    }

    /// The elements; nil of another value.
    var elements: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }
}
