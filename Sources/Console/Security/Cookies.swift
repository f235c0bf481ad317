import HTTPServing
import NIOHTTP1

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
