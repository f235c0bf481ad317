import Glibc

/// An http or https URL, or a path at a Unix socket.
package struct HTTPAddress: Hashable, Sendable {
    /// Where connections lead.
    package enum Place: Hashable, Sendable {
        /// The host is in lower case; an IPv6 address is without brackets.
        case host(String, port: Int, usesTLS: Bool)
        case socket(path: String)
    }

    package let place: Place
    /// The path and query of a request.
    package let target: String

    package init(_ place: Place, target: String) {
        self.place = place
        self.target = target
    }

    /// Parses a URL with ASCII characters only.
    package init(_ text: String) throws(HTTPAddressError) {
        guard text.utf8.allSatisfy({ (0x21...0x7e).contains($0) && !#""\<>^`{|}#"#.utf8.contains($0) }) else {
            throw HTTPAddressError("the URL has a character that must be percent-encoded; a name in another script is written in Punycode")
        }
        let schemes = ["https://": true, "http://": false]
        guard let scheme = schemes.first(where: { text.lowercased().hasPrefix($0.key) }) else {
            throw HTTPAddressError("the URL begins neither with https:// nor with http://")
        }
        let rest = text.dropFirst(scheme.key.count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let path = rest.dropFirst(authority.count)
        guard !path.contains("#") else { throw HTTPAddressError("the URL has a fragment, which a server never gets") }
        guard !authority.contains("@") else {
            throw HTTPAddressError("the URL has a user or a password, which everyone with access to it could read")
        }
        let (host, port) = try Self.parse(authority)
        place = .host(host.lowercased(), port: port ?? (scheme.value ? 443 : 80), usesTLS: scheme.value)
        target = path.hasPrefix("/") ? String(path) : "/" + path
    }

    /// The value of the `Host` field. The path of a socket is no host (RFC 9110, section 7.2).
    package var authority: String {
        guard case .host(let host, let port, let usesTLS) = place else { return "localhost" }
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (usesTLS ? 443 : 80) ? name : "\(name):\(port)"
    }

    private static func parse(_ authority: Substring) throws(HTTPAddressError) -> (host: String, port: Int?) {
        let isBracketed = authority.hasPrefix("[")
        let host = isBracketed ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
        let suffix = authority.dropFirst(host.count + (isBracketed ? 2 : 0))
        guard isBracketed ? authority.contains("]") && host.contains(":") && isIPAddress(String(host)) : isName(host) else {
            throw HTTPAddressError("the URL has no valid host")
        }
        guard !suffix.isEmpty else { return (String(host), nil) }
        guard suffix.hasPrefix(":"), suffix.count <= 6, suffix.dropFirst().allSatisfy(\.isNumber), let port = Int(suffix.dropFirst()),
            (1...65535).contains(port)
        else {
            throw HTTPAddressError("the URL has no valid port")
        }
        return (String(host), port)
    }

    /// Whether the host is an address: no server name indication may hold one (RFC 6066, section 3).
    package static func isIPAddress(_ host: String) -> Bool {
        var address = [UInt8](repeating: 0, count: 16)
        return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1
    }

    private static func isName(_ host: Substring) -> Bool {
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        return host.utf8.count <= 253
            && labels.allSatisfy { label in
                (1...63).contains(label.utf8.count) && label.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" }
            }
    }
}

extension HTTPAddress: CustomStringConvertible, CustomReflectable {
    /// Without path and query, which may hold a secret.
    package var description: String {
        switch place {
        case .host(_, _, let usesTLS): "\(usesTLS ? "https" : "http")://\(authority)"
        case .socket(let path): "unix:\(path)"
        }
    }

    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

/// Why a text is no URL that requests can be sent to; never holds the URL.
package struct HTTPAddressError: Error, Hashable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
