/// One text for all JSON texts that mean the same, to recognise a notification that has no id of its own.
///
/// No white space; members ordered by the UTF-8 bytes of their names; escapes only where JSON demands them; an integer that fits into 64
/// bits in its digits, whether it was written `1`, `1.0` or `1e0`; any other number as it was written; elements of arrays in their order.
/// Two texts with the same canonical one mean the same; of numbers that no integer holds the reverse does not hold.
package enum CanonicalJSON {
    /// The canonical text of an object without its own members of those names; members further inside are kept.
    package static func text(of object: JSONObject, omitting names: Set<String> = []) -> [UInt8] {
        let kept = object.members.filter { !names.contains($0.name) }
        return JSONSerializer.serialize(canonical(JSONObject(uniqueMembers: kept)))
    }

    /// The text whose digest recognises a notification V1: everything but the `password`, which may be rotated between two deliveries.
    package static func text(ofNotificationV1 object: JSONObject) -> [UInt8] { text(of: object, omitting: ["password"]) }

    private static func canonical(_ object: JSONObject) -> JSONObject {
        let members = object.members.map { JSONObject.Member(name: $0.name, value: canonical($0.value)) }
        return JSONObject(uniqueMembers: members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) })
    }

    private static func canonical(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let object): .object(canonical(object))
        case .array(let elements): .array(elements.map(canonical))
        case .number(let number): .number(number.int64.map { JSONNumber($0) } ?? number)
        case .null, .bool, .string: value
        }
    }
}
