import HTTPServing
import NIOHTTP1

/// Who a request comes from, as far as it can be told without the database.
struct Access: Sendable {
    let origin: OriginPolicy
    let cookies: Cookies
    private let proxy: ConsoleServer.Proxy?

    init(_ configuration: ConsoleServer.Configuration) {
        origin = OriginPolicy(origin: configuration.origin)
        cookies = Cookies(isSecure: origin.isSecure)
        proxy = configuration.proxy
    }

    /// Whether people log in by a link.
    var hasLogins: Bool { proxy == nil }

    /// What a request shows of its person.
    enum Credential: Sendable {
        /// The secret of a session.
        case session(ConsoleSecret)
        /// The person whom the proxy names.
        case person(ConsolePerson)
    }

    /// - Throws: status 401 where the request has no session, or the proxy does not name a person who may use the console.
    func credential(of request: Request) throws(ConsoleProblem) -> Credential {
        guard let proxy else {
            guard let secret = cookies.session(of: request) else { throw .noSession }
            return .session(secret)
        }
        // A field that is there twice is joined by a comma, which no name has.
        guard let name = request.field(proxy.field), let person = proxy.names()[name] else { throw .unknownPerson }
        return .person(person)
    }
}

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

/// The two cookies of the console: the session, and the words about an action that the next page shows.
///
/// By https they have the prefix `__Host-`, so that no other host can set them. Without TLS, which is for this machine only, browsers disagree
/// about cookies that are `Secure`: there they are without it.
struct Cookies: Sendable {
    let isSecure: Bool

    private var session: String { isSecure ? "__Host-appstore-console" : "appstore-console" }
    private var notice: String { isSecure ? "__Host-appstore-notice" : "appstore-notice" }
    private var attributes: String { "; Path=/; HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "") }

    /// The secret of the session; nil without a cookie that has the form of one.
    func session(of request: Request) -> ConsoleSecret? { value(session, of: request).flatMap { ConsoleSecret($0) } }

    /// The words that the page shows once.
    func notice(of request: Request) -> String? { value(notice, of: request).flatMap { PercentEncoding.decode(Substring($0)) } }

    /// - Parameter seconds: how long the browser keeps it.
    func setSession(_ secret: ConsoleSecret, seconds: Int) -> String { "\(session)=\(secret.text); Max-Age=\(seconds)" + attributes }

    var endSession: String { "\(session)=; Max-Age=0" + attributes }

    func setNotice(_ words: String) -> String {
        let encoded = words.utf8.prefix(1000).map(PercentEncoding.escape).joined()
        return "\(notice)=\(encoded); Max-Age=30" + attributes
    }

    var endNotice: String { "\(notice)=; Max-Age=0" + attributes }

    private func value(_ name: String, of request: Request) -> String? {
        let cookies = request.headers["cookie"].joined(separator: ";").split(separator: ";").map { String($0.drop { $0 == " " }) }
        let found = cookies.filter { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) }
        // Two of one name: another service on this machine has set one.
        return found.count == 1 ? found[0] : nil
    }
}

/// The header fields of every answer.
enum SecurityHeaders {
    /// Nothing inline is permitted: not even text that got into a page as markup could run or style anything.
    static let policy =
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        + "frame-ancestors 'none'"

    /// - Parameter isSecure: whether browsers reach the console by https.
    static func fields(isSecure: Bool) -> HTTPHeaders {
        var fields: HTTPHeaders = [
            "content-security-policy": policy,
            "cache-control": "no-store",
            "referrer-policy": "no-referrer",
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "permissions-policy": "camera=(), geolocation=(), microphone=()",
            "x-robots-tag": "noindex",
        ]
        if isSecure { fields.add(name: "strict-transport-security", value: "max-age=31536000") }
        return fields
    }
}
