import HTTPServing

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
