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

/// A JSON object with ordered members and unique names.
package struct JSONObject: Hashable, Sendable {
    /// One member of an object.
    package struct Member: Hashable, Sendable {
        package var name: String
        package var value: JSONValue

        package init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// The members in source order.
    package private(set) var members: [Member]

    /// An object without members.
    package init() {
        members = []
    }

    /// Creates an object; a repeated name keeps its first position and takes its last value.
    package init(_ pairs: some Sequence<(String, JSONValue)>) {
        members = []
        for (name, value) in pairs { self[name] = value }
    }

    /// Creates an object from members whose names the caller knows to be unique.
    package init(uniqueMembers: [Member]) {
        members = uniqueMembers
    }

    /// The value of a member, `nil` when absent. Setting replaces in place or appends; setting `nil` removes.
    package subscript(name: String) -> JSONValue? {
        get {
            index(of: name).map { members[$0].value }
        }
        set {
            switch (index(of: name), newValue) {
            case (let index?, let value?): members[index].value = value
            case (nil, let value?): members.append(Member(name: name, value: value))
            case (let index?, nil): members.remove(at: index)
            case (nil, nil): break
            }
        }
    }

    /// Compares lengths first: most names differ in length, and string comparison is far slower.
    private func index(of name: String) -> Int? {
        let length = name.utf8.count
        return members.firstIndex { $0.name.utf8.count == length && $0.name == name }
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements)
    }
}

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

/// A JSON number, kept as its source text so that no digit is lost.
package struct JSONNumber: Hashable, Sendable {
    /// The source text, in RFC 8259 grammar.
    package let text: String

    package init(_ value: some BinaryInteger) {
        text = String(value)
    }

    /// Creates a number from text that the scanner has validated.
    init(validatedText: String) {
        text = validatedText
    }

    /// The value, when it is an integer in the range of `Int64`; `12`, `12.0` and `1.2e1` are the same integer.
    package var int64: Int64? {
        if let value = Int64(text) { return value }
        return Decimal(text).value(rounding: .never)
    }

    /// Whether PostgreSQL's `numeric` holds it: 131,072 digits before the point and 16,383 after it (datatype-numeric.html).
    fileprivate var fitsNumeric: Bool {
        let decimal = Decimal(text)
        return decimal.digits.count + decimal.exponent <= 131_072 && decimal.exponent >= -16_383
    }

    /// The value rounded down, when it is in the range of `Int64`.
    package var floored: Int64? {
        if let value = Int64(text) { return value }
        return Decimal(text).value(rounding: .down)
    }

    /// A parsed number: ±digits × 10^exponent.
    private struct Decimal {
        enum Rounding { case never, down }

        var isNegative = false
        var digits: [UInt8] = []
        var exponent = 0

        init(_ text: String) {
            var bytes = text.utf8[...]
            if bytes.first == UInt8(ascii: "-") {
                isNegative = true
                bytes.removeFirst()
            }
            let mantissa = bytes.prefix { $0 != UInt8(ascii: "e") && $0 != UInt8(ascii: "E") }
            let integer = mantissa.prefix { $0 != UInt8(ascii: ".") }
            let fraction = mantissa.dropFirst(integer.count + 1)
            digits = (Array(integer) + Array(fraction)).drop { $0 == UInt8(ascii: "0") }.map { $0 - UInt8(ascii: "0") }
            exponent = Self.exponent(bytes.dropFirst(mantissa.count + 1)) - fraction.count
        }

        /// Saturates at a billion, so that sums cannot overflow; no text has that many digits.
        private static func exponent(_ bytes: Substring.UTF8View) -> Int {
            guard let first = bytes.first else { return 0 }
            let digits = bytes.drop { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }
            let magnitude = digits.reduce(0) { min($0 * 10 + Int($1 - UInt8(ascii: "0")), 1_000_000_000) }
            return first == UInt8(ascii: "-") ? -magnitude : magnitude
        }

        func value(rounding: Rounding) -> Int64? {
            guard !digits.isEmpty else { return 0 }
            let kept = digits.count + min(exponent, 0)
            let hasFraction = exponent < 0 && digits.suffix(digits.count - max(kept, 0)).contains { $0 != 0 }
            if hasFraction && rounding == .never { return nil }
            let zeros = max(exponent, 0)
            guard kept + zeros <= 19 else { return nil }
            var magnitude: UInt64 = digits.prefix(max(kept, 0)).reduce(0) { $0 * 10 + UInt64($1) }
            for _ in 0..<zeros { magnitude *= 10 }
            if isNegative && hasFraction { magnitude += 1 }
            return isNegative ? Int64(exactly: -Int128(magnitude)) : Int64(exactly: magnitude)
        }
    }
}
