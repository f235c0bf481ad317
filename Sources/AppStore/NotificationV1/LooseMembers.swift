import FoundationEssentials
import StrictJSON

/// Reads the members of an object in verifyReceipt's answers and notifications V1, whose format changed over the years.
///
/// Numbers and flags may be strings; a date has one to three members; an unknown value may be an empty string. Absent, `null` and empty
/// give nil; an unreadable value throws an error with its path.
struct LooseMembers<Member: RawRepresentable<String>> {
    private let object: JSONObject

    init(_ object: JSONObject) {
        self.object = object
    }

    /// Text; a number is read as its digits, because identifiers occur as both.
    func text(_ member: Member) throws(MalformedPayload) -> String? {
        switch value(member.rawValue) {
        case nil: nil
        case .string(let text): text
        case .number(let number): number.int64.map { String($0) } ?? number.text
        default: throw MalformedPayload(path: member.rawValue, expectation: "a string or a number")
        }
    }

    /// An integer, or a string of digits.
    func integer(_ member: Member) throws(MalformedPayload) -> Int64? {
        guard let value = value(member.rawValue) else { return nil }
        guard let integer = Self.integer(value) else { throw MalformedPayload(path: member.rawValue, expectation: "a 64-bit integer") }
        return integer
    }

    /// A flag: `true`, `"true"`, `1` or `"1"`, and their opposites.
    func flag(_ member: Member) throws(MalformedPayload) -> Bool? {
        guard let value = value(member.rawValue) else { return nil }
        switch value {
        case .bool(let flag): return flag
        case .string("true"): return true
        case .string("false"): return false
        default:
            guard let integer = Self.integer(value), (0...1).contains(integer) else {
                throw MalformedPayload(path: member.rawValue, expectation: "true or false")
            }
            return integer == 1
        }
    }

    /// A date: `…_ms` in milliseconds since 1970, otherwise the member itself: milliseconds, text in GMT, or RFC 3339.
    ///
    /// `…_pst` repeats the date in another zone and is never the only member.
    func date(_ member: Member) throws(MalformedPayload) -> Timestamp? {
        let milliseconds = "\(member.rawValue)_ms"
        if let value = value(milliseconds) {
            guard let date = Self.milliseconds(value) else { throw MalformedPayload(path: milliseconds, expectation: Self.aDate) }
            return date
        }
        guard let value = value(member.rawValue) else { return nil }
        if let date = Self.milliseconds(value) { return date }
        guard case .string(let text) = value, let date = Timestamp(etcGMT: text) ?? Timestamp(rfc3339: Array(text.utf8)) else {
            throw MalformedPayload(path: member.rawValue, expectation: Self.aDate)
        }
        return date
    }

    /// A UUID; other text gives nil, because Apple does not validate the values that apps set.
    func uuid(_ member: Member) throws(MalformedPayload) -> UUID? {
        try text(member).flatMap { UUID(uuidString: $0) }
    }

    /// An open-ended value written as a string.
    func value<Value: OpenValue>(_ member: Member) throws(MalformedPayload) -> Value? where Value.RawValue == String {
        try text(member).map { Value(rawValue: $0) }
    }

    /// An open-ended value written as an integer, or as a string of digits.
    func value<Value: OpenValue>(_ member: Member) throws(MalformedPayload) -> Value? where Value.RawValue == Int32 {
        guard let integer = try integer(member) else { return nil }
        guard let narrow = Int32(exactly: integer) else { throw MalformedPayload(path: member.rawValue, expectation: "a 32-bit integer") }
        return Value(rawValue: narrow)
    }

    /// An object of a known type.
    func object<Object: PayloadObject>(_ member: Member) throws(MalformedPayload) -> Object? {
        guard let value = value(member.rawValue) else { return nil }
        guard case .object(let object) = value else { throw MalformedPayload(path: member.rawValue, expectation: "an object") }
        return try decode(object, path: member.rawValue)
    }

    /// Objects of a known type: an array, or a single object as in older answers. Empty when absent.
    func objects<Object: PayloadObject>(_ member: Member) throws(MalformedPayload) -> [Object] {
        switch value(member.rawValue) {
        case nil: return []
        case .object(let object)?: return [try decode(object, path: member.rawValue)]
        case .array(let elements)?:
            var objects: [Object] = []
            objects.reserveCapacity(elements.count)
            for (index, element) in elements.enumerated() {
                let path = "\(member.rawValue)[\(index)]"
                guard case .object(let object) = element else { throw MalformedPayload(path: path, expectation: "an object") }
                objects.append(try decode(object, path: path))
            }
            return objects
        default: throw MalformedPayload(path: member.rawValue, expectation: "an array of objects")
        }
    }

    /// Objects of a known type; skips unreadable ones.
    func readableObjects<Object: PayloadObject>(_ member: Member) -> [Object] {
        let elements: [JSONValue] =
            switch value(member.rawValue) {
            case .object(let object)?: [.object(object)]
            case .array(let elements)?: elements
            default: []
            }
        return elements.compactMap { element in
            guard case .object(let object) = element else { return nil }
            do throws(MalformedPayload) {
                return try Object(object)
            } catch {
                return nil
            }
        }
    }

    private static var aDate: String { "a date from 1970 to 9999" }

    private func decode<Object: PayloadObject>(_ object: JSONObject, path: String) throws(MalformedPayload) -> Object {
        do {
            return try Object(object)
        } catch {
            throw error.inside(path)
        }
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
