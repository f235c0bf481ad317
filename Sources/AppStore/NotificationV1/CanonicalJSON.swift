package import StrictJSON

/// A canonical form of JSON, to recognise repeated deliveries of a notification that has no id.
///
/// - No white space; escapes only where JSON requires them.
/// - Members ordered by the UTF-8 bytes of their names; array elements in source order.
/// - A 64-bit integer as its digits, whether written `1`, `1.0` or `1e0`; any other number as in the source.
///
/// Texts with the same canonical form are equivalent. Equivalent texts can differ in form only in numbers that are not 64-bit integers.
package enum CanonicalJSON {
    /// The canonical text of an object, without its outermost members of those names.
    package static func text(of object: JSONObject, omitting names: Set<String> = []) -> [UInt8] {
        let kept = object.members.filter { !names.contains($0.name) }
        return JSONSerializer.serialize(canonical(JSONObject(uniqueMembers: kept)))
    }

    /// The text whose digest identifies a notification V1: without the `password`, which may be rotated between two deliveries.
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
