import EndToEndTesting
import PostgresTesting
import StoreSimulator
import StrictJSON

extension Installation {
    /// A worker's settings for the shop, for the commands that share them.
    func workerSettings(for shop: Shop, _ settings: [String: String] = [:]) throws -> [String: String] {
        [
            "APPSTORE_INBOX_DATABASE_URL": database.url(user: "appstore_worker"), "APPSTORE_INBOX_APPS": shop.app.bundleID,
            "APPSTORE_INBOX_EXTRA_ROOTS": "\(try rootPath(of: shop)):Production+Sandbox",
        ].merging(settings) { $1 }
    }

    /// Runs `explain` in both formats, which must end alike.
    func explain(_ event: Int64, for shop: Shop) async throws -> Explained {
        try await explain(event, settings: workerSettings(for: shop))
    }

    /// Runs `explain` in both formats with these settings.
    func explain(_ event: Int64, settings: [String: String]) async throws -> Explained {
        let json = try await Program.run(["explain", "\(event)", "--json"], settings: settings)
        let text = try await Program.run(["explain", "\(event)"], settings: settings)
        guard json.ending == .exit(0), text.ending == .exit(0) else {
            throw ProgramFailure(what: "explain ended with \(json.ending) and \(text.ending)", log: json.errors + text.errors)
        }
        return Explained(json: try json.json(), text: text.output)
    }
}

/// The output of `explain` for one event.
struct Explained {
    let json: JSONDocument
    let text: String

    /// The failed check, with its reason and its JWS.
    var failure: String? {
        for part in json.documents("verification") {
            guard let failed = part.document("failed") else { continue }
            return [part.text("location"), failed.text("step"), failed.text("reason")].compactMap(\.self).joined(separator: " ")
        }
        return nil
    }

    /// Whether every check of every part was made.
    var isChecked: Bool { json.documents("verification").allSatisfy { $0.object["not_reached"] == [] } }

    /// The fact about the charge, with its standing: `held`, `superseded` or `not_merged`.
    var charge: JSONDocument? { fact("transactions") }

    /// The fact about the renewal.
    var renewal: JSONDocument? { fact("contracts") }

    private func fact(_ table: String) -> JSONDocument? { json.documents("facts").first { $0.text("table") == table } }

    /// `kind event` of each effect.
    var effects: [String] {
        json.documents("effects").map { "\($0.text("kind") ?? "") \($0.number("event_id") ?? "none")" }
    }

    /// The outcome of each run.
    var runs: [String] {
        json.documents("outcomes").map { [$0.text("result"), $0.text("reason")].compactMap(\.self).joined(separator: " ") }
    }
}
