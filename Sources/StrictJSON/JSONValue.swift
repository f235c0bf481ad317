/// A JSON value (RFC 8259); members keep their order, numbers their digits.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// A number with exactly this value.
    package static func integer(_ value: some BinaryInteger) -> JSONValue {
        .number(JSONNumber(value))
    }

    /// Null without a value.
    package static func optional(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
    package static func optional(_ number: (some BinaryInteger)?) -> JSONValue { number.map { .integer($0) } ?? .null }
    package static func optional(_ texts: [String]?) -> JSONValue { texts.map { .array($0.map { .string($0) }) } ?? .null }
    package static func optional(_ object: JSONObject?) -> JSONValue { object.map { .object($0) } ?? .null }
}

extension JSONValue {
    /// Whether PostgreSQL's `jsonb` holds it: no text with U+0000, and no number that `numeric` does not hold.
    package var fitsJSONB: Bool {
        switch self {
        case .null, .bool: true
        case .number(let number): number.fitsNumeric
        case .string(let text): !text.hasNUL
        case .array(let elements): elements.allSatisfy(\.fitsJSONB)
        case .object(let object): object.members.allSatisfy { !$0.name.hasNUL && $0.value.fitsJSONB }
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) {
        self = .string(value)
    }

    package init(integerLiteral value: Int64) {
        self = .integer(value)
    }

    package init(booleanLiteral value: Bool) {
        self = .bool(value)
    }

    package init(arrayLiteral elements: JSONValue...) {
        self = .array(elements)
    }

    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(elements))
    }
}
