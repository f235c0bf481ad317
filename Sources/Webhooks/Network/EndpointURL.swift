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
