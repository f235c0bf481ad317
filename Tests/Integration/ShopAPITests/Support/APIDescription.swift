import HTTPServingTesting
import StrictJSON
import Testing

@testable import HTTPServing
@testable import ShopAPI

/// The served OpenAPI description, for comparison with answers.
struct APIDescription: Sendable {
    let root: JSONValue

    static let served = APIDescription(OpenAPI.text)

    init(_ text: String) {
        do { root = try JSONParser().parse(Array(text.utf8)) } catch { root = .null }
    }

    /// The path templates.
    var paths: [String] { root["paths"]?.names ?? [] }

    /// The description of each problem type.
    var problems: [String: String] {
        var problems: [String: String] = [:]
        for type in root["components"]?["schemas"]?["ProblemType"]?["oneOf"]?.elements ?? [] {
            if let name = type["const"]?.text { problems[name] = type["description"]?.text }
        }
        return problems
    }

    /// The target of a reference.
    func resolve(_ reference: String) -> JSONValue? {
        guard reference.hasPrefix("#/") else { return nil }
        return reference.dropFirst(2).split(separator: "/").reduce(Optional(root)) { $0?[String($1)] }
    }

    /// All references in the document.
    var references: [String] { root.references }

    /// Expects that the description lists the status of an answer, and that the answer has the members that its schema requires.
    func expectDescribed(_ method: String, _ target: String, _ response: RawResponse, sourceLocation: SourceLocation) throws {
        let isProblem = response.headers["content-type"] == Problem.mediaType
        if isProblem, method != "HEAD" {
            let object = try JSONParser().parse(Array(response.body.utf8))
            #expect(problems[object["type"]?.text ?? ""] != nil, "\(response.body)", sourceLocation: sourceLocation)
            #expect(object["status"] == .integer(response.status), sourceLocation: sourceLocation)
        }
        #expect(isProblem == (response.status >= 400), sourceLocation: sourceLocation)
        guard let path = template(of: target), let operation = root["paths"]?[path]?[method.lowercased()] else { return }
        let found = operation["responses"]?["\(response.status)"]
        let others: [Int] = [404, 405, 408, 411, 417, 431, 501]
        #expect(found != nil || others.contains(response.status), "\(method) \(path): \(response.status)", sourceLocation: sourceLocation)
        guard let found, let schema = followed(found)?["content"]?["application/json"]?["schema"].flatMap(followed) else { return }
        let object = try JSONParser().parse(Array(response.body.utf8))
        for name in required(schema) { #expect(object[name] != nil, "\(path): \(name)", sourceLocation: sourceLocation) }
    }

    /// Expects examples with all required members and no unknown ones for a JSON body.
    func expectExamples(_ content: JSONValue?, _ place: String) {
        guard let schema = content?["application/json"]?["schema"].flatMap(followed) else { return }
        let examples = schema["examples"]?.elements ?? []
        #expect(!examples.isEmpty, "\(place) has no example")
        for example in examples {
            #expect(Set(required(schema)).isSubset(of: example.names), "\(place)")
            #expect(Set(example.names).isSubset(of: properties(schema)), "\(place)")
        }
    }

    private func properties(_ schema: JSONValue) -> [String] {
        (schema["properties"]?.names ?? []) + (schema["allOf"]?.elements ?? []).compactMap(followed).flatMap(properties)
    }

    private func template(of target: String) -> String? {
        let path = String(target.prefix { $0 != "?" })
        return paths.first { (try? PathTemplate($0).values(in: path)) != nil }
    }

    func followed(_ value: JSONValue) -> JSONValue? {
        value["$ref"]?.text.map { resolve($0) ?? .null } ?? value
    }

    private func required(_ schema: JSONValue) -> [String] {
        let own = schema["required"]?.elements.compactMap(\.text) ?? []
        return own + (schema["allOf"]?.elements ?? []).compactMap(followed).flatMap(required)
    }
}

extension JSONValue {
    subscript(name: String) -> JSONValue? {
        if case .object(let object) = self { object[name] } else { nil }
    }

    var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    var elements: [JSONValue] {
        if case .array(let elements) = self { elements } else { [] }
    }

    var names: [String] {
        if case .object(let object) = self { object.members.map(\.name) } else { [] }
    }

    fileprivate var references: [String] {
        switch self {
        case .object(let object): object.members.flatMap { $0.name == "$ref" ? [$0.value.text ?? ""] : $0.value.references }
        case .array(let elements): elements.flatMap(\.references)
        default: []
        }
    }
}

extension RawResponse {
    /// The body as JSON.
    func json() throws -> JSONValue { try JSONParser().parse(Array(body.utf8)) }

    /// The reason at the end of a problem's type.
    var problem: String? {
        (try? json())?["type"]?.text?.split(separator: ":").last.map(String.init)
    }
}
