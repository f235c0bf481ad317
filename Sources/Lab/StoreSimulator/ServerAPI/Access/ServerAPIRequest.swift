package import AppStore
import FoundationEssentials
package import StrictJSON

/// A request to the App Store Server API.
package struct ServerAPIRequest: Sendable {
    package struct Parameter: Hashable, Sendable {
        package let name: String
        package let value: String
    }

    package let environment: AppStoreEnvironment
    package let method: String
    /// The path, with percent-encoding removed.
    package let path: String
    /// The query in its order; names can repeat.
    package let query: [Parameter]
    /// What follows `Bearer ` in the header Authorization, a secret.
    package let token: String?
    package let body: [UInt8]

    /// - Parameter target: path and query, percent-encoded.
    package init(_ method: String, _ target: String, in environment: AppStoreEnvironment, token: String? = nil, body: [UInt8] = []) {
        self.environment = environment
        self.method = method
        self.token = token
        self.body = body
        let components = URLComponents(string: target)
        path = components?.path ?? target
        query = (components?.queryItems ?? []).map { Parameter(name: $0.name, value: $0.value ?? "") }
    }

    /// The endpoint; nil for an unknown path or method.
    package var endpoint: ServerAPIEndpoint? { ServerAPIEndpoint.route(method, path)?.endpoint }

    /// The values of a parameter.
    package func values(_ name: String) -> [String] { query.filter { $0.name == name }.map(\.value) }

    /// The body's members; throws `badRequest` if it is no JSON object.
    package func members() throws(ServerAPIError) -> JSONObject {
        do {
            return try JSONParser().parseObject(body)
        } catch {
            throw .badRequest
        }
    }
}

extension ServerAPIRequest: CustomStringConvertible, CustomReflectable {
    /// Without identifiers, body and token.
    package var description: String { "\(endpoint?.rawValue ?? "an unknown path") in \(environment.rawValue)" }
    package var customMirror: Mirror { Mirror(self, children: ["endpoint": endpoint?.rawValue ?? ""]) }
}
