/// Why a request is not answered with what it asked for. The words are shown to the person.
struct ConsoleProblem: Error, Sendable {
    let status: Int
    let title: String
    let detail: String

    /// Status 400: the address or the form is wrong.
    static func badRequest(_ detail: String) -> ConsoleProblem {
        ConsoleProblem(status: 400, title: "Not understood", detail: detail)
    }
    /// Status 403: the person may not do this.
    static func forbidden(_ detail: String) -> ConsoleProblem {
        ConsoleProblem(status: 403, title: "Not permitted", detail: detail)
    }
    /// Status 404: there is no such thing.
    static func notFound(_ detail: String) -> ConsoleProblem { ConsoleProblem(status: 404, title: "Not found", detail: detail) }
    /// Status 409: the state of things does not permit it.
    static func conflict(_ detail: String) -> ConsoleProblem {
        ConsoleProblem(status: 409, title: "Not possible now", detail: detail)
    }

    static let noSession = ConsoleProblem(
        status: 401,
        title: "Log in",
        detail: "Run `appstore-inbox console login` as your login of the database, and open the link that it prints."
    )
    static let unknownPerson = ConsoleProblem(
        status: 401,
        title: "Not permitted",
        detail: "The proxy names no person who may use the console."
    )
    static let crossOrigin = ConsoleProblem(
        status: 403,
        title: "Not permitted",
        detail: "This form did not come from a page of the console. Open the console again and repeat it there."
    )
    static let unusedLink = ConsoleProblem(
        status: 403,
        title: "The link does not work",
        detail: "It was used already or is older than 60 seconds. Run `appstore-inbox console login` again."
    )
    static let tooSlow = ConsoleProblem(
        status: 503,
        title: "It takes too long",
        detail: "The database needed more than five seconds. Narrow the search, or ask the same in psql."
    )
    static let held = conflict("A worker or a repair holds what this would change. Try again in some seconds.")
    static let unavailable = ConsoleProblem(
        status: 503,
        title: "The database does not answer",
        detail: "Try again in a moment. The log of the console says why."
    )
    static let broken = ConsoleProblem(
        status: 500,
        title: "It failed",
        detail: "The database refused what the console asked. The log of the console says why."
    )
}
