import AppStore
import HTML
import Postgres
import SQL
import StrictJSON

/// Shows the body of an event once, and writes to the audit log who has read it.
struct ShowBody: ConsoleAction {
    let path = "/events/{id}/body"
    let area = ConsoleArea.events
    let right = ConsoleRight.showBodies

    /// Bytes that are shown: a receipt has megabytes.
    private static let limit = 12_000
    /// The most bytes of a body whose payloads are decoded, and the most payloads: the console has little memory.
    private static let (decodedBytes, payloads) = (256 * 1024, 50)

    func perform(_ form: ActionForm, _ context: ConsoleContext) async throws -> ActionAnswer {
        let id = try form.number("id")
        let note = try form.required("note", "Why do you read it?")
        let statement = Statement.showBody(eventID: id, reason: note)
        guard let bytes = try await context.transaction.query(statement).first?.decode(0, as: [UInt8].self) else {
            throw ConsoleProblem.notFound("There is no event \(id).")
        }
        let page = Page(
            title: "Body of event \(id)",
            elsewhere: Elsewhere(
                psql: ["SELECT convert_from(appstore.show_body(\(id), \(note)), 'UTF8');"],
                commands: ["appstore-inbox explain \(id)"]
            )
        ) {
            p { "That you have read it is in the audit log. It is a customer’s data. Nothing here vouches for a signature." }
            if bytes.count > Self.decodedBytes { p { "Its payloads are not decoded here: it has more than \(Self.decodedBytes) bytes." } }
            for part in Self.parts(of: bytes).prefix(Self.payloads) {
                h2 { part.location }
                pre { part.payload.map { Self.lines($0).start(Self.limit) } ?? "It cannot be decoded." }
            }
            details {
                summary { "The body as it was received, \(bytes.count) bytes" }
                pre { String(decoding: bytes.prefix(Self.limit), as: UTF8.self) }
                if bytes.count > Self.limit { p { "The first \(Self.limit) bytes are shown." } }
            }
            p { a(.href(context.url("events", "\(id)"))) { "Back to event \(id)" } }
        }
        return .page(page)
    }

    private static func parts(of body: [UInt8]) -> [SignedPart] {
        guard body.count <= decodedBytes else { return [] }
        do { return SignedPart.all(in: try JSONParser().parseObject(body)) } catch { return [] }
    }

    /// A member on each line; a JWS stands by itself, under its path.
    private static func lines(_ object: JSONObject, indent: String = "") -> String {
        object.members.map { member in
            switch member.value {
            case .object(let inner): "\(indent)\(member.name):\n" + lines(inner, indent: indent + "  ")
            case .string(let text) where text.isJWS: "\(indent)\(member.name): see below"
            case .string(let text): "\(indent)\(member.name): \(text)"
            default: "\(indent)\(member.name): " + JSONSerializer.text(member.value)
            }
        }.joined(separator: "\n")
    }
}

extension String {
    fileprivate func start(_ count: Int) -> String { String(prefix(count)) }
}
