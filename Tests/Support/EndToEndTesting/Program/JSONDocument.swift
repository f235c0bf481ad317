package import StrictJSON

/// A JSON object that the program printed, or a member of one.
package struct JSONDocument: Sendable {
    package let object: JSONObject

    package init(_ text: String) throws {
        object = try JSONParser().parseObject(Array(text.utf8))
    }

    private init(object: JSONObject) {
        self.object = object
    }

    /// A member that is a string; nil when it is absent or has another type.
    package func text(_ name: String) -> String? {
        guard case .string(let text)? = object[name] else { return nil }
        return text
    }

    /// A member that is a number.
    package func number(_ name: String) -> String? {
        guard case .number(let number)? = object[name] else { return nil }
        return number.text
    }

    /// A member that is true or false.
    package func flag(_ name: String) -> Bool? {
        guard case .bool(let flag)? = object[name] else { return nil }
        return flag
    }

    /// The objects of a member that is an array.
    package func documents(_ name: String) -> [JSONDocument] {
        guard case .array(let elements)? = object[name] else { return [] }
        return elements.compactMap { if case .object(let nested) = $0 { JSONDocument(object: nested) } else { nil } }
    }

    /// A member that is an object.
    package func document(_ name: String) -> JSONDocument? {
        guard case .object(let nested)? = object[name] else { return nil }
        return JSONDocument(object: nested)
    }
}
