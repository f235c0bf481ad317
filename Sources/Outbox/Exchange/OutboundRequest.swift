/// A request to exactly this address: redirects are not followed.
package struct OutboundRequest: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
    }

    package var method: Method
    package var url: String
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    /// The largest accepted answer body.
    package var maximumAnswerBytes: Int

    package init(
        _ method: Method,
        _ url: String,
        headers: [(name: String, value: String)] = [],
        body: [UInt8] = [],
        maximumAnswerBytes: Int
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.maximumAnswerBytes = maximumAnswerBytes
    }
}

extension OutboundRequest: CustomStringConvertible, CustomReflectable {
    /// Shows neither fields nor body: they hold secrets.
    package var description: String { "\(method.rawValue) \(url)" }
    package var customMirror: Mirror { Mirror(self, children: ["method": method.rawValue, "url": url]) }
}
