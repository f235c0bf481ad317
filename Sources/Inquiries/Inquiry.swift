import AppStore
import ServerAPI
import StrictJSON

/// What a call of the outbox asks the App Store Server API. The kind of the call names the endpoint; the payload has the rest, and how far
/// a paged answer was read.
struct Inquiry: Hashable, Sendable {
    let endpoint: ServerAPIEndpoint
    let path: [String]
    let body: JSONObject?
    /// Whether Sandbox is asked where Production does not know the transaction.
    let asksAnyEnvironment: Bool
    var query: [ServerAPIRequest.QueryItem]
    /// The environment that knew the transaction, after the first page.
    var environment: AppStoreEnvironment?
    /// Pages so far.
    var pages: Int64
    /// Events so far.
    var events: Int64
    /// How often the answer was begun anew, since Apple refused the revision of a page.
    var restarts: Int64

    /// The revision that the next page continues from.
    var revision: String? {
        get { query.first { $0.name == Self.revisionName }?.value }
        set {
            query.removeAll { $0.name == Self.revisionName }
            if let newValue { query.append(.init(Self.revisionName, newValue)) }
        }
    }

    private static let revisionName = "revision"

    /// Nil for an unknown kind, and for a payload of another form.
    init?(kind: String, payload: [UInt8]) {
        guard let endpoint = ServerAPIEndpoint(rawValue: kind) else { return nil }
        do {
            let json = try JSONParser().parseObject(payload)
            self.endpoint = endpoint
            path = try json.array("path").map { try $0.text() }
            query = try json.array("query").map { item in
                guard case .array(let pair) = item, pair.count == 2 else { throw WrongForm() }
                return ServerAPIRequest.QueryItem(try pair[0].text(), try pair[1].text())
            }
            if case .object(let body)? = json["body"] { self.body = body } else { body = nil }
            asksAnyEnvironment = json["anyEnvironment"] == .bool(true)
            environment = try json["environment"].map { AppStoreEnvironment(rawValue: try $0.text()) }
            pages = json.count("pages")
            events = json.count("events")
            restarts = json.count("restarts")
        } catch {
            return nil
        }
    }

    /// The payload with which the call goes on.
    var payload: [UInt8] {
        var json: JSONObject = ["path": .array(path.map { .string($0) }), "pages": .integer(pages), "events": .integer(events)]
        if !query.isEmpty { json["query"] = .array(query.map { .array([.string($0.name), .string($0.value)]) }) }
        if let body { json["body"] = .object(body) }
        if asksAnyEnvironment { json["anyEnvironment"] = true }
        if let environment { json["environment"] = .string(environment.rawValue) }
        if restarts > 0 { json["restarts"] = .integer(restarts) }
        return JSONSerializer.serialize(json)
    }
}

private struct WrongForm: Error {}

extension JSONObject {
    /// A list; empty where there is none.
    fileprivate func array(_ name: String) throws -> [JSONValue] {
        switch self[name] {
        case nil, .null?: return []
        case .array(let elements)?: return elements
        default: throw WrongForm()
        }
    }

    fileprivate func count(_ name: String) -> Int64 {
        if case .number(let number)? = self[name] { number.int64 ?? 0 } else { 0 }
    }
}

extension JSONValue {
    fileprivate func text() throws -> String {
        guard case .string(let text) = self else { throw WrongForm() }
        return text
    }
}
