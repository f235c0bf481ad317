import AppStore
import StrictJSON

extension PayloadObject {
    static var knownMembers: [String] { Member.allCases.map(\.rawValue) }
}

/// Finds the members of a JSON object that a payload type has not decoded, at any depth.
enum PayloadCoverage {
    /// The paths of members that the type does not know or has left `nil`.
    static func unconsumedMembers(of json: JSONObject, in payload: any PayloadObject) -> [String] {
        let properties = Dictionary(Mirror(reflecting: payload).children.map { ($0.label ?? "", $0.value) }) { first, _ in first }
        return json.members.flatMap { member -> [String] in
            guard type(of: payload).knownMembers.contains(member.name), let value = properties[member.name].flatMap(unwrapped) else {
                return [member.name]
            }
            return unconsumed(in: member.value, decoded: value, path: member.name)
        }
    }

    private static func unconsumed(in json: JSONValue, decoded: Any, path: String) -> [String] {
        switch (json, decoded) {
        case (.object(let object), let payload as any PayloadObject):
            unconsumedMembers(of: object, in: payload).map { "\(path).\($0)" }
        case (.array(let elements), let payloads as [any PayloadObject]):
            zip(elements, payloads).enumerated().flatMap { index, pair in unconsumed(in: pair.0, decoded: pair.1, path: "\(path)[\(index)]")
            }
        default: []
        }
    }

    private static func unwrapped(_ value: Any) -> Any? {
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .optional else { return value }
        return mirror.children.first?.value
    }
}
