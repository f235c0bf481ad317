import StrictJSON

/// Reads the members of an object in verifyReceipt's answers and notifications V1, whose format changed over the years.
///
/// Numbers and flags may be strings; a date has one to three members; an unknown value may be an empty string. Absent, `null` and empty
/// give nil; an unreadable value gives nil, too, and is noted in ``odd``.
struct LooseMembers<Member: RawRepresentable<String>> {
    private let object: JSONObject
    /// The members that could not be read.
    private(set) var odd: [MalformedPayload] = []

    init(_ object: JSONObject) {
        self.object = object
    }

    /// Text; a number is read as its digits, because identifiers occur as both.
    mutating func text(_ member: Member) -> String? {
        switch value(member.rawValue) {
        case nil: nil
        case .string(let text): text.hasNUL ? note(member, "a string without U+0000") : text
        case .number(let number): number.int64.map { String($0) } ?? number.text
        default: note(member, "a string or a number")
        }
    }

    /// Text that is no number: the name of an app.
    mutating func name(_ member: Member) -> String? {
        if case .number? = value(member.rawValue) { return note(member, "a string") }
        return text(member)
    }

    /// An integer, or a string of digits.
    mutating func integer(_ member: Member) -> Int64? {
        guard let value = value(member.rawValue) else { return nil }
        return Self.integer(value) ?? note(member, "a 64-bit integer")
    }

    /// A flag: `true`, `"true"`, `1` or `"1"`, and their opposites.
    mutating func flag(_ member: Member) -> Bool? {
        guard let value = value(member.rawValue) else { return nil }
        switch value {
        case .bool(let flag): return flag
        case .string("true"): return true
        case .string("false"): return false
        default:
            guard let integer = Self.integer(value), (0...1).contains(integer) else { return note(member, "true or false") }
            return integer == 1
        }
    }

    /// A date: `…_ms` in milliseconds since 1970, otherwise the member itself: milliseconds, text in GMT, or RFC 3339.
    ///
    /// `…_pst` repeats the date in another zone and is never the only member.
    mutating func date(_ member: Member) -> Timestamp? {
        let milliseconds = "\(member.rawValue)_ms"
        if let value = value(milliseconds) {
            if let date = Self.milliseconds(value) { return date }
            note(milliseconds, Self.aDate)
        }
        guard let value = value(member.rawValue) else { return nil }
        if let date = Self.milliseconds(value) { return date }
        guard case .string(let text) = value, let date = Timestamp(etcGMT: text) ?? Timestamp(rfc3339: Array(text.utf8)) else {
            return note(member, Self.aDate)
        }
        return date
    }

    /// An open-ended value written as a string.
    mutating func value<Value: OpenValue>(_ member: Member) -> Value? where Value.RawValue == String {
        text(member).map { Value(rawValue: $0) }
    }

    /// An open-ended value written as an integer, or as a string of digits.
    mutating func value<Value: OpenValue>(_ member: Member) -> Value? where Value.RawValue == Int32 {
        guard let integer = integer(member) else { return nil }
        guard let narrow = Int32(exactly: integer) else { return note(member, "a 32-bit integer") }
        return Value(rawValue: narrow)
    }

    /// An object of a known type.
    mutating func object<Object: PayloadObject>(_ member: Member) -> Object? {
        guard let value = value(member.rawValue) else { return nil }
        guard case .object(let object) = value else { return note(member, "an object") }
        return decode(object, path: member.rawValue)
    }

    /// Objects of a known type: an array, or a single object as in older answers. Empty when absent.
    mutating func objects<Object: PayloadObject>(_ member: Member) -> [Object] {
        switch value(member.rawValue) {
        case nil: return []
        case .object(let object)?: return [decode(object, path: member.rawValue)]
        case .array(let elements)?:
            var objects: [Object] = []
            objects.reserveCapacity(elements.count)
            for (index, element) in elements.enumerated() {
                let path = "\(member.rawValue)[\(index)]"
                if case .object(let object) = element {
                    objects.append(decode(object, path: path))
                } else {
                    note(path, "an object")
                }
            }
            return objects
        default: return note(member, "an array of objects") ?? []
        }
    }

    /// Takes over what could not be read of this object's members by another reader.
    mutating func note(_ others: [MalformedPayload]) {
        odd += others
    }

    private static var aDate: String { "a date from 1970 to 9999" }

    private mutating func decode<Object: PayloadObject>(_ object: JSONObject, path: String) -> Object {
        let decoded = Object(decoding: object)
        odd += decoded.odd.map { $0.inside(path) }
        return decoded
    }

    private mutating func note<Value>(_ member: Member, _ expectation: String) -> Value? {
        note(member.rawValue, expectation)
        return nil
    }

    private mutating func note(_ path: String, _ expectation: String) {
        odd.append(MalformedPayload(path: path, expectation: expectation))
    }

    private func value(_ name: String) -> JSONValue? {
        switch object[name] {
        case nil, .null?, .string("")?: nil
        case let value?: value
        }
    }

    private static func integer(_ value: JSONValue) -> Int64? {
        switch value {
        case .number(let number): number.int64
        case .string(let text): Int64(text)
        default: nil
        }
    }

    private static func milliseconds(_ value: JSONValue) -> Timestamp? {
        if case .number(let number) = value { return Timestamp(number) }
        guard let integer = integer(value), Timestamp.decodableMilliseconds.contains(integer) else { return nil }
        return Timestamp(millisecondsSince1970: integer)
    }
}
