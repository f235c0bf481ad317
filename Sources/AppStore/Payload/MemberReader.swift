package import FoundationEssentials
package import StrictJSON

/// Reads the members of one JSON object by a closed list of names.
///
/// Absent and `null` give nil. A member of another type, or with a text that PostgreSQL cannot store, gives nil, too, and is noted in ``odd``.
/// A value of a list that this version does not know is kept, and noted in ``unknown``.
package struct MemberReader<Member: RawRepresentable<String>> {
    private let object: JSONObject
    /// The members that could not be read.
    package private(set) var odd: [MalformedPayload] = []
    /// The values that this version does not know.
    package private(set) var unknown: [UnknownValue] = []

    package init(_ object: JSONObject) {
        self.object = object
    }

    package mutating func string(_ member: Member) -> String? {
        switch value(member) {
        case nil: nil
        case .string(let text): storable(text, member)
        default: note(member, "a string")
        }
    }

    /// An identifier: a string, or an integer, which is read as its digits.
    package mutating func identifier(_ member: Member) -> String? {
        switch value(member) {
        case nil: return nil
        case .string(let text): return storable(text, member)
        case .number(let number):
            if let integer = number.int64 { return String(integer) }
            return note(member, "a string or an integer")
        default: return note(member, "a string or an integer")
        }
    }

    /// An integer; `1`, `1.0` and `1e0` are equal, a fraction is none.
    package mutating func integer(_ member: Member) -> Int64? {
        switch value(member) {
        case nil: return nil
        case .number(let number):
            if let integer = number.int64 { return integer }
            return note(member, "a 64-bit integer")
        default: return note(member, "a 64-bit integer")
        }
    }

    /// An integer that Apple declares as 32 bits wide.
    package mutating func integer32(_ member: Member) -> Int32? {
        guard let integer = integer(member) else { return nil }
        guard let narrow = Int32(exactly: integer) else { return note(member, "a 32-bit integer") }
        return narrow
    }

    /// A numeric identifier (`appAppleId`): an integer, or a string of decimal digits.
    package mutating func numericIdentifier(_ member: Member) -> Int64? {
        guard case .string(let text)? = value(member) else { return integer(member) }
        guard let integer = Int64(text), integer >= 0, text.first?.isNumber == true else { return note(member, "a 64-bit integer") }
        return integer
    }

    package mutating func bool(_ member: Member) -> Bool? {
        switch value(member) {
        case nil: nil
        case .bool(let flag): flag
        default: note(member, "a boolean")
        }
    }

    /// A date in milliseconds since 1970, rounded down, from 1970 to 9999.
    package mutating func timestamp(_ member: Member) -> Timestamp? {
        switch value(member) {
        case nil: return nil
        case .number(let number):
            if let timestamp = Timestamp(number) { return timestamp }
            return note(member, "a date in milliseconds from 1970 to 9999")
        default: return note(member, "a date in milliseconds from 1970 to 9999")
        }
    }

    /// A UUID; other text gives `nil`, because Apple does not validate the values that apps set.
    package mutating func uuid(_ member: Member) -> UUID? {
        string(member).flatMap { UUID(uuidString: $0) }
    }

    /// An open-ended value written as a string; unknown values are kept.
    package mutating func value<Value: OpenValue>(_ member: Member) -> Value? where Value.RawValue == String {
        guard let text = string(member) else { return nil }
        return noted(Value(rawValue: text), member)
    }

    /// An open-ended value written as an integer; unknown values are kept.
    package mutating func value<Value: OpenValue>(_ member: Member) -> Value? where Value.RawValue == Int32 {
        guard let number = integer32(member) else { return nil }
        return noted(Value(rawValue: number), member)
    }

    /// An array of strings, without the elements that are none.
    package mutating func strings(_ member: Member) -> [String]? {
        guard let elements = array(member) else { return nil }
        var strings: [String] = []
        for (index, element) in elements.enumerated() {
            if case .string(let text) = element, !text.hasNUL {
                strings.append(text)
            } else {
                note("\(member.rawValue)[\(index)]", "a string")
            }
        }
        return strings
    }

    /// An array of UUIDs that Apple made, without the elements that are none.
    package mutating func uuids(_ member: Member) -> [UUID]? {
        guard let elements = array(member) else { return nil }
        var uuids: [UUID] = []
        for (index, element) in elements.enumerated() {
            if case .string(let text) = element, let uuid = UUID(uuidString: text) {
                uuids.append(uuid)
            } else {
                note("\(member.rawValue)[\(index)]", "a UUID")
            }
        }
        return uuids
    }

    /// An object of a known type.
    package mutating func object<Object: PayloadObject>(_ member: Member) -> Object? {
        switch value(member) {
        case nil: nil
        case .object(let object): decode(object, path: member.rawValue)
        default: note(member, "an object")
        }
    }

    /// An array of objects of a known type, without the elements that are none.
    package mutating func objects<Object: PayloadObject>(_ member: Member) -> [Object]? {
        guard let elements = array(member) else { return nil }
        var objects: [Object] = []
        for (index, element) in elements.enumerated() {
            let path = "\(member.rawValue)[\(index)]"
            if case .object(let object) = element {
                objects.append(decode(object, path: path))
            } else {
                note(path, "an object")
            }
        }
        return objects
    }

    private mutating func array(_ member: Member) -> [JSONValue]? {
        switch value(member) {
        case nil: nil
        case .array(let elements): elements
        default: note(member, "an array")
        }
    }

    private mutating func decode<Object: PayloadObject>(_ object: JSONObject, path: String) -> Object {
        let decoded = Object(decoding: object)
        odd += decoded.odd.map { $0.inside(path) }
        unknown += decoded.unknown.map { $0.inside(path) }
        return decoded
    }

    private func value(_ member: Member) -> JSONValue? {
        guard let value = object[member.rawValue], value != .null else { return nil }
        return value
    }

    private mutating func storable(_ text: String, _ member: Member) -> String? {
        text.hasNUL ? note(member, "a string without U+0000") : text
    }

    private mutating func noted<Value: OpenValue>(_ value: Value, _ member: Member) -> Value {
        if !value.isKnown { unknown.append(UnknownValue(path: member.rawValue, value: "\(value.rawValue)")) }
        return value
    }

    private mutating func note<Value>(_ member: Member, _ expectation: String) -> Value? {
        note(member.rawValue, expectation)
        return nil
    }

    /// Notes a member, or an element of one, that the caller cannot use.
    mutating func note(_ path: String, _ expectation: String) {
        odd.append(MalformedPayload(path: path, expectation: expectation))
    }
}
