package import FoundationEssentials
package import StrictJSON

/// Reads the members of one JSON object by a closed list of names.
///
/// Absent and `null` give `nil`; a wrong type throws an error with its path.
package struct MemberReader<Member: RawRepresentable<String>> {
    private let object: JSONObject

    package init(_ object: JSONObject) {
        self.object = object
    }

    package func string(_ member: Member) throws(MalformedPayload) -> String? {
        switch value(member) {
        case nil: nil
        case .string(let text): text
        default: throw malformed(member, "a string")
        }
    }

    /// An identifier: a string, or an integer, which is read as its digits.
    package func identifier(_ member: Member) throws(MalformedPayload) -> String? {
        switch value(member) {
        case nil: return nil
        case .string(let text): return text
        case .number(let number):
            if let integer = number.int64 { return String(integer) }
            throw malformed(member, "a string or an integer")
        default: throw malformed(member, "a string or an integer")
        }
    }

    /// An integer; `1`, `1.0` and `1e0` are equal, a fraction throws.
    package func integer(_ member: Member) throws(MalformedPayload) -> Int64? {
        switch value(member) {
        case nil: return nil
        case .number(let number):
            if let integer = number.int64 { return integer }
            throw malformed(member, "a 64-bit integer")
        default: throw malformed(member, "a 64-bit integer")
        }
    }

    /// An integer that Apple declares as 32 bits wide.
    package func integer32(_ member: Member) throws(MalformedPayload) -> Int32? {
        guard let integer = try integer(member) else { return nil }
        guard let narrow = Int32(exactly: integer) else { throw malformed(member, "a 32-bit integer") }
        return narrow
    }

    /// A numeric identifier (`appAppleId`): an integer, or a string of decimal digits.
    package func numericIdentifier(_ member: Member) throws(MalformedPayload) -> Int64? {
        guard case .string(let text)? = value(member) else { return try integer(member) }
        guard let integer = Int64(text), integer >= 0, text.first?.isNumber == true else { throw malformed(member, "a 64-bit integer") }
        return integer
    }

    package func bool(_ member: Member) throws(MalformedPayload) -> Bool? {
        switch value(member) {
        case nil: nil
        case .bool(let flag): flag
        default: throw malformed(member, "a boolean")
        }
    }

    /// A date in milliseconds since 1970, rounded down; throws outside 1970…9999.
    package func timestamp(_ member: Member) throws(MalformedPayload) -> Timestamp? {
        switch value(member) {
        case nil: return nil
        case .number(let number):
            if let timestamp = Timestamp(number) { return timestamp }
            throw malformed(member, "a date in milliseconds from 1970 to 9999")
        default: throw malformed(member, "a date in milliseconds from 1970 to 9999")
        }
    }

    /// A UUID; other text gives `nil`, because Apple does not validate the values that apps set.
    package func uuid(_ member: Member) throws(MalformedPayload) -> UUID? {
        try string(member).flatMap { UUID(uuidString: $0) }
    }

    /// An open-ended value written as a string; unknown values are kept.
    package func value<Value: OpenValue>(_ member: Member) throws(MalformedPayload) -> Value? where Value.RawValue == String {
        try string(member).map { Value(rawValue: $0) }
    }

    /// An open-ended value written as an integer; unknown values are kept.
    package func value<Value: OpenValue>(_ member: Member) throws(MalformedPayload) -> Value? where Value.RawValue == Int32 {
        try integer32(member).map { Value(rawValue: $0) }
    }

    /// An array of strings.
    package func strings(_ member: Member) throws(MalformedPayload) -> [String]? {
        guard let elements = try array(member) else { return nil }
        var strings: [String] = []
        for (index, element) in elements.enumerated() {
            guard case .string(let text) = element else { throw malformed("\(member.rawValue)[\(index)]", "a string") }
            strings.append(text)
        }
        return strings
    }

    /// An object of a known type.
    package func object<Object: PayloadObject>(_ member: Member) throws(MalformedPayload) -> Object? {
        switch value(member) {
        case nil: nil
        case .object(let object): try decode(object, path: member.rawValue)
        default: throw malformed(member, "an object")
        }
    }

    /// An array of objects of a known type.
    package func objects<Object: PayloadObject>(_ member: Member) throws(MalformedPayload) -> [Object]? {
        guard let elements = try array(member) else { return nil }
        var objects: [Object] = []
        for (index, element) in elements.enumerated() {
            let path = "\(member.rawValue)[\(index)]"
            guard case .object(let object) = element else { throw malformed(path, "an object") }
            objects.append(try decode(object, path: path))
        }
        return objects
    }

    private func array(_ member: Member) throws(MalformedPayload) -> [JSONValue]? {
        switch value(member) {
        case nil: nil
        case .array(let elements): elements
        default: throw malformed(member, "an array")
        }
    }

    private func decode<Object: PayloadObject>(_ object: JSONObject, path: String) throws(MalformedPayload) -> Object {
        do {
            return try Object(object)
        } catch {
            throw error.inside(path)
        }
    }

    private func value(_ member: Member) -> JSONValue? {
        guard let value = object[member.rawValue], value != .null else { return nil }
        return value
    }

    private func malformed(_ member: Member, _ expectation: String) -> MalformedPayload {
        malformed(member.rawValue, expectation)
    }

    private func malformed(_ path: String, _ expectation: String) -> MalformedPayload {
        MalformedPayload(path: path, expectation: expectation)
    }
}
