import AppStore
import StrictJSON

/// The JSON Schema of a type of entries, from the part `webhooks` of the description: as much of JSON Schema as the description uses.
struct FeedSchema {
    private let description: APIDescription
    private let schema: JSONValue

    /// Nil where the description has no such type.
    init?(_ type: String, in description: APIDescription = .served) {
        let body = description.root["webhooks"]?[type]?["post"]?["requestBody"]
        guard let schema = body?["content"]?["application/json"]?["schema"] else { return nil }
        (self.description, self.schema) = (description, schema)
    }

    /// What contradicts the schema. A member that no schema names does, too, so that each member of an entry is described.
    func violations(of entry: JSONValue) -> [String] { violations(of: entry, [schema], at: "entry") }

    /// Each member: its path, its types, and whether it is always there.
    var members: [String] { members(of: [schema], at: "") }

    private func violations(of value: JSONValue, _ schemas: [JSONValue], at place: String) -> [String] {
        let parts = schemas.flatMap(parts)
        var found = parts.flatMap { part -> [String] in
            var found: [String] = []
            if !part.types.isEmpty, !part.types.contains(where: value.isOf) { found.append("\(place) is not of \(part.types)") }
            if let const = part["const"], const != value { found.append("\(place) is not \(const)") }
            if case .object = value {
                found += part.required.filter { value[$0] == nil }.map { "\(place).\($0) is missing" }
            }
            if part["format"]?.text == "date-time", let text = value.text, Timestamp(rfc3339: Array(text.utf8)) == nil {
                found.append("\(place) is no instant")
            }
            return found
        }
        switch value {
        case .object(let object):
            for member in object.members {
                let schemas = parts.compactMap { $0["properties"]?[member.name] }
                if schemas.isEmpty { found.append("\(place).\(member.name) is not described") }
                found += violations(of: member.value, schemas, at: "\(place).\(member.name)")
            }
        case .array(let elements):
            let items = parts.compactMap { $0["items"] }
            for (index, element) in elements.enumerated() { found += violations(of: element, items, at: "\(place)[\(index)]") }
        default: break
        }
        return found
    }

    private func members(of schemas: [JSONValue], at place: String) -> [String] {
        let parts = schemas.flatMap(parts)
        let required = Set(parts.flatMap(\.required))
        let names = parts.flatMap { $0["properties"]?.names ?? [] }
        return Set(names).sorted().flatMap { name in
            let path = place.isEmpty ? name : "\(place).\(name)"
            let schemas = parts.compactMap { $0["properties"]?[name] }
            let types = Set(schemas.flatMap(self.parts).flatMap(\.types)).sorted().joined(separator: "|")
            let line = "\(path) \(types) \(required.contains(name) ? "required" : "optional")"
            let items = schemas.flatMap(self.parts).compactMap { $0["items"] }
            return [line] + members(of: schemas, at: path) + members(of: items, at: "\(path)[]")
        }
    }

    /// A schema without references: itself and what it consists of.
    private func parts(_ schema: JSONValue) -> [JSONValue] {
        let target = description.followed(schema) ?? .null
        return [target] + (target["allOf"]?.elements ?? []).flatMap(parts)
    }
}

extension JSONValue {
    fileprivate var types: [String] {
        self["type"].map { type in type.text.map { [$0] } ?? type.elements.compactMap(\.text) } ?? []
    }

    fileprivate var required: [String] { self["required"]?.elements.compactMap(\.text) ?? [] }

    fileprivate func isOf(_ type: String) -> Bool {
        switch self {
        case .null: type == "null"
        case .bool: type == "boolean"
        case .number(let number): type == "number" || type == "integer" && !number.text.contains(".")
        case .string: type == "string"
        case .array: type == "array"
        case .object: type == "object"
        }
    }
}
