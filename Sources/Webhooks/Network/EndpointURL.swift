/// The address of an endpoint: https, or http to a private address or a name, which is judged when it is resolved.
package struct EndpointURL: Hashable, Sendable {
    let usesTLS: Bool
    /// In lower case; an IPv6 address is without brackets.
    let host: String
    let port: Int
    /// The path and query of a request.
    let target: String

    package init(_ text: String) throws(EndpointURLError) {
        guard text.utf8.count <= 2048 else { throw EndpointURLError("the URL is longer than 2048 bytes") }
        guard text.utf8.allSatisfy({ (0x21...0x7e).contains($0) && !#""\<>^`{|}#"#.utf8.contains($0) }) else {
            throw EndpointURLError("the URL has a character that must be percent-encoded; a name in another script is written in Punycode")
        }
        let schemes = ["https://": true, "http://": false]
        guard let scheme = schemes.first(where: { text.lowercased().hasPrefix($0.key) }) else {
            throw EndpointURLError("the URL begins neither with https:// nor with http://")
        }
        usesTLS = scheme.value
        let rest = text.dropFirst(scheme.key.count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let path = rest.dropFirst(authority.count)
        guard !path.contains("#") else { throw EndpointURLError("the URL has a fragment, which a server never gets") }
        guard !authority.contains("@") else {
            throw EndpointURLError("the URL has a user or a password, which everyone with access to the database could read")
        }
        (host, port) = try Self.parse(authority, usesTLS: scheme.value)
        target = path.hasPrefix("/") ? String(path) : "/" + path
        if !usesTLS, let address, !NetworkPolicy.isPrivate(address) {
            throw EndpointURLError("http is for loopback and private addresses only, \(address) is neither")
        }
    }

    /// Nil where the host is a name.
    var address: IPAddress? { IPAddress(host) }

    /// The value of the `Host` field.
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (usesTLS ? 443 : 80) ? name : "\(name):\(port)"
    }

    private static func parse(_ authority: Substring, usesTLS: Bool) throws(EndpointURLError) -> (host: String, port: Int) {
        let isBracketed = authority.hasPrefix("[")
        let host = isBracketed ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
        let suffix = authority.dropFirst(host.count + (isBracketed ? 2 : 0))
        guard isBracketed ? authority.contains("]") && host.contains(":") && IPAddress(String(host)) != nil : isName(host) else {
            throw EndpointURLError("the URL has no valid host")
        }
        guard IPAddress(String(host)) != nil || !endsInNumber(host) else {
            throw EndpointURLError("the host of the URL is an address in an unusual notation: write it as four decimal numbers")
        }
        guard !suffix.isEmpty else { return (host.lowercased(), usesTLS ? 443 : 80) }
        guard suffix.hasPrefix(":"), suffix.count <= 6, suffix.dropFirst().allSatisfy(\.isNumber), let port = Int(suffix.dropFirst()),
            (1...65535).contains(port)
        else {
            throw EndpointURLError("the URL has no valid port")
        }
        return (host.lowercased(), port)
    }

    /// Such as `127.1` or `0xa9fea9fe`, which resolvers read as an address, and a proxy would connect to.
    private static func endsInNumber(_ host: Substring) -> Bool {
        host.split(separator: ".").last.map { $0.lowercased().hasPrefix("0x") || $0.allSatisfy(\.isNumber) } ?? false
    }

    private static func isName(_ host: Substring) -> Bool {
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        return host.utf8.count <= 253
            && labels.allSatisfy { label in
                (1...63).contains(label.utf8.count) && label.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" }
            }
    }
}

extension EndpointURL: CustomStringConvertible, CustomReflectable {
    /// Without path and query, which may hold a secret.
    package var description: String { "\(usesTLS ? "https" : "http")://\(authority)" }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

/// Why a text cannot be the URL of an endpoint; never holds the URL.
package struct EndpointURLError: Error, Hashable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
