import FoundationEssentials

/// The address to which Apple posts notifications.
struct PublicURL: Sendable {
    /// The path of notifications V2.
    static let notifications = "/apple/v2/notifications"

    let isTLS: Bool
    let host: String
    let port: Int
    /// The whole URL. The path is that of notifications where the text names none.
    let text: String

    /// Nil unless the text is `https://HOST…` or `http://HOST…`.
    init?(_ text: String) {
        guard let url = URL(string: text), let scheme = url.scheme, ["http", "https"].contains(scheme), let host = url.host(), !host.isEmpty
        else { return nil }
        isTLS = scheme == "https"
        self.host = host
        port = url.port ?? (isTLS ? 443 : 80)
        let path = ["", "/"].contains(url.path()) ? PublicURL.notifications : url.path()
        self.text = "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)\(path)"
    }

    /// Whether the host is an address, which no server name indication may hold (RFC 6066, section 3).
    var isAddress: Bool { host.contains(":") || host.allSatisfy { $0.isNumber || $0 == "." } }
}
