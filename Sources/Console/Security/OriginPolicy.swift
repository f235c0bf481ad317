import HTTPServing

/// Which requests come from pages of the console itself.
package struct OriginPolicy: Sendable {
    /// The origin that browsers see, such as `https://console.example.com`; nil where the console is reached on this machine without TLS.
    let origin: String?

    /// Whether browsers reach the console by https.
    var isSecure: Bool { origin?.hasPrefix("https://") ?? false }

    /// Refuses a form that another site could have sent.
    ///
    /// Browsers send Sec-Fetch-Site to https and to this machine, and Origin with every POST. A request with neither comes from no browser
    /// that the console could be used with.
    func checkPost(_ request: Request) throws(ConsoleProblem) {
        if let site = request.field("sec-fetch-site") {
            guard site == "same-origin" else { throw .crossOrigin }
        } else {
            guard let given = request.field("origin"), given == expected(request) else { throw .crossOrigin }
        }
    }

    /// The name for this machine in links. Cookies ignore ports: those of this name reach no other service of the machine.
    package static let host = "appstore-inbox.localhost"

    /// Refuses a request for another host: a name that an attacker lets resolve to this machine.
    func checkHost(_ request: Request) throws(ConsoleProblem) {
        guard origin == nil else { return }
        guard let host = request.field("host"), Self.isThisMachine(host) else {
            throw .badRequest("The console is served for localhost here. Set APPSTORE_INBOX_CONSOLE_ORIGIN for another name.")
        }
    }

    private func expected(_ request: Request) -> String? { origin ?? request.field("host").map { "http://\($0)" } }

    private static func isThisMachine(_ host: String) -> Bool {
        let name = host.hasPrefix("[") ? host.prefix { $0 != "]" } + "]" : host.prefix { $0 != ":" }
        return [Substring(Self.host), "localhost", "127.0.0.1", "[::1]"].contains(name)
    }
}
