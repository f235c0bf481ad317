import FoundationEssentials
import HTTPRequesting

/// An HTTP proxy, to which all connections are made.
///
/// It resolves names itself and decides what they may lead to; of addresses in URLs, the policy of this program still decides.
package struct ProxyAddress: Hashable, Sendable {
    let host: String
    let port: Int
    /// The value of `Proxy-Authorization`: a secret.
    let authorization: String?

    /// Reads `http://[user:password@]host:port`. User and password may be percent-encoded.
    package init?(_ text: String) {
        guard text.hasPrefix("http://") else { return nil }
        var rest = text.dropFirst("http://".count)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        if let at = rest.lastIndex(of: "@") {
            guard let credentials = Self.decoded(rest[..<at]), credentials.contains(UInt8(ascii: ":")) else { return nil }
            authorization = "Basic " + Data(credentials).base64EncodedString()
            rest = rest[rest.index(after: at)...]
        } else {
            authorization = nil
        }
        do throws(EndpointURLError) {
            // A port is demanded: there is no usual one.
            let url = try EndpointURL("https://\(rest)")
            guard url.location.target == "/", rest.drop(while: { $0 != "]" }).contains(":") || !rest.hasPrefix("["), rest.contains(":")
            else {
                return nil
            }
            (host, port) = (url.host, url.port)
        } catch {
            return nil
        }
    }

    /// Nil for broken percent-encoding.
    private static func decoded(_ text: Substring) -> [UInt8]? {
        let parts = text.split(separator: "%", omittingEmptySubsequences: false)
        var bytes = Array(parts[0].utf8)
        for part in parts.dropFirst() {
            guard part.utf8.count >= 2, let byte = UInt8(part.prefix(2), radix: 16) else { return nil }
            bytes += [byte] + part.dropFirst(2).utf8
        }
        return bytes
    }
}

extension ProxyAddress: CustomStringConvertible, CustomReflectable {
    /// Without user and password.
    package var description: String { "http://\(host):\(port)" }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
