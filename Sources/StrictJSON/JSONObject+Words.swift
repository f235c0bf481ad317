extension JSONObject {
    /// A member as a word for people; nil when it is absent, null, or no single value.
    package func word(_ name: String) -> String? {
        switch self[name] {
        case .string(let text)?: text
        case .number(let number)?: number.text
        case .bool(let flag)?: flag ? "true" : "false"
        default: nil
        }
    }

    /// The objects of a member that is a list.
    package func rows(_ name: String) -> [JSONObject] {
        guard case .array(let elements)? = self[name] else { return [] }
        return elements.compactMap { if case .object(let row) = $0 { row } else { nil } }
    }
}
