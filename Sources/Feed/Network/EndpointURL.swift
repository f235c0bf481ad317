import FoundationEssentials
import HTTPRequesting

/// The address of an endpoint: https, or http to a private address or a name, which is judged when it is resolved.
package struct EndpointURL: Hashable, Sendable {
    let location: HTTPAddress
    let usesTLS: Bool
    /// In lower case; an IPv6 address is without brackets.
    let host: String
    let port: Int

    package init(_ text: String) throws(EndpointURLError) {
        guard text.utf8.count <= 2048 else { throw EndpointURLError("the URL is longer than 2048 bytes") }
        do throws(HTTPAddressError) {
            location = try HTTPAddress(text)
        } catch {
            throw EndpointURLError(error.description)
        }
        guard case .host(let host, let port, let usesTLS) = location.place else { throw EndpointURLError("the URL has no valid host") }
        (self.host, self.port, self.usesTLS) = (host, port, usesTLS)
        guard IPAddress(host) != nil || !Self.endsInNumber(host) else {
            throw EndpointURLError("the host of the URL is an address in an unusual notation: write it as four decimal numbers")
        }
        if !usesTLS, let address, !NetworkPolicy.isPrivate(address) {
            throw EndpointURLError("http is for loopback and private addresses only, \(address) is neither")
        }
    }

    /// Nil where the host is a name.
    var address: IPAddress? { IPAddress(host) }

    /// Such as `127.1` or `0xa9fea9fe`, which resolvers read as an address, and a proxy would connect to.
    private static func endsInNumber(_ host: String) -> Bool {
        host.split(separator: ".").last.map { $0.lowercased().hasPrefix("0x") || $0.allSatisfy(\.isNumber) } ?? false
    }
}

extension EndpointURL: CustomStringConvertible, CustomReflectable {
    /// Without path and query, which may hold a secret.
    package var description: String { "\(location)" }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

/// Why a text cannot be the URL of an endpoint; never holds the URL.
package struct EndpointURLError: Error, Hashable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

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
