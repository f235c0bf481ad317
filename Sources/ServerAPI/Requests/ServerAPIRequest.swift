package import AppStore
package import Outbox
package import StrictJSON

/// A question to the App Store Server API.
package struct ServerAPIRequest: Hashable, Sendable {
    /// A member of the query. A name may be repeated.
    package struct QueryItem: Hashable, Sendable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package let endpoint: ServerAPIEndpoint
    /// The app and the environment that are asked about.
    package let lane: CallLane
    /// The values of the endpoint's template, in its order; they are percent-encoded when the request is sent.
    package let path: [String]
    package let query: [QueryItem]
    package let body: JSONObject?

    package init(
        _ endpoint: ServerAPIEndpoint,
        of bundleID: String,
        in environment: AppStoreEnvironment,
        path: [String] = [],
        query: [QueryItem] = [],
        body: JSONObject? = nil
    ) {
        self.endpoint = endpoint
        self.lane = CallLane(bundleID, environment)
        self.path = path
        self.query = query
        self.body = body
    }

    /// Whether each value of the template is there, and is no dot segment, which would name another path (RFC 3986, section 3.3).
    var isComplete: Bool {
        path.count == endpoint.template.count { $0 == "{" } && path.allSatisfy { !["", ".", ".."].contains($0) }
    }

    /// The path and query of the URL.
    var target: String {
        var values = path[...]
        let segments = endpoint.template.split(separator: "/").map { segment in
            segment.hasPrefix("{") ? Self.encoded(values.popFirst() ?? "") : String(segment)
        }
        let items = query.map { "\(Self.encoded($0.name))=\(Self.encoded($0.value))" }
        return "/" + segments.joined(separator: "/") + (items.isEmpty ? "" : "?" + items.joined(separator: "&"))
    }

    /// Everything but the unreserved characters of RFC 3986 is escaped, so that a value can be no other path.
    private static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            let scalar = UnicodeScalar(byte)
            let isPlain =
                byte < 0x80 && (Character(scalar).isLetter || Character(scalar).isNumber || "-_~.".unicodeScalars.contains(scalar))
            return isPlain ? String(scalar) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }
}
