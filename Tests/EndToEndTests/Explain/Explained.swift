import AppStore
import EndToEndTesting
import PostgresTesting
import StoreSimulator

extension Installation {
    /// What a worker for the shop would be started with, for the commands that read as it does.
    func workerSettings(for shop: Shop, _ settings: [String: String] = [:]) throws -> [String: String] {
        [
            "APPSTORE_INBOX_DATABASE_URL": database.url(user: "appstore_worker"), "APPSTORE_INBOX_APPS": shop.app.bundleID,
            "APPSTORE_INBOX_EXTRA_ROOTS": "\(try rootPath(of: shop)):Production+Sandbox",
        ].merging(settings) { $1 }
    }

    /// Runs `explain` in both forms, which must agree about whether there is such an event.
    func explain(_ event: Int64, for shop: Shop) async throws -> Explained {
        let settings = try workerSettings(for: shop)
        let json = try await Program.run(["explain", "\(event)", "--json"], settings: settings)
        let text = try await Program.run(["explain", "\(event)"], settings: settings)
        guard json.ending == .exit(0), text.ending == .exit(0) else {
            throw ProgramFailure(what: "explain ended with \(json.ending) and \(text.ending)", log: json.errors + text.errors)
        }
        return Explained(json: try json.json(), text: text.output)
    }
}

/// What `explain` has said of one event.
struct Explained {
    let json: JSONDocument
    let text: String

    /// The one check that failed, with its reason and the JWS that it is about.
    var failure: String? {
        for part in json.documents("verification") {
            for check in part.documents("checks") where check.text("result") == "failed" {
                return [part.text("location"), check.text("step"), check.text("reason")].compactMap(\.self).joined(separator: " ")
            }
        }
        return nil
    }

    /// How often each result of a check occurs.
    var checks: [String: Int] {
        let results = json.documents("verification").flatMap { $0.documents("checks") }.compactMap { $0.text("result") }
        return Dictionary(results.map { ($0, 1) }, uniquingKeysWith: +)
    }

    /// `held`, `superseded` or `not_merged` of the event's charge.
    var charge: JSONDocument? { json.document("facts")?.document("transaction") }

    var renewal: JSONDocument? { json.document("facts")?.document("subscription") }

    /// `kind event` of each effect.
    var effects: [String] {
        json.documents("effects").map { "\($0.text("kind") ?? "") \($0.number("event") ?? "nobody")" }
    }

    /// What became of each run.
    var runs: [String] {
        json.documents("runs").map { [$0.text("result"), $0.text("reason")].compactMap(\.self).joined(separator: " ") }
    }
}
