import AppStore
import StrictJSON

/// Writes a line for each settled event.
struct TailPrinter {
    let isJSON: Bool
    /// Whether outcomes have colours.
    let isColoured: Bool
    private var columns = Columns()

    init(isJSON: Bool, isColoured: Bool) {
        self.isJSON = isJSON
        self.isColoured = isColoured
    }

    /// - Parameter now: An event of another day is printed with its date.
    mutating func line(_ event: SettledEvent, now: Timestamp) -> String {
        guard !isJSON else { return JSONSerializer.text(event.json).shownSafely + "\n" }
        let settled = "\(Timestamp(event.settledAt))"
        let isToday = "\(now)".prefix(10) == settled.prefix(10)
        let cells = [
            String(settled.prefix(19).dropFirst(isToday ? 11 : 0)).replacing("T", with: " "),
            [event.type ?? event.source, event.subtype].compactMap(\.self).joined(separator: "/"),
            (event.bundleID ?? "-") + (event.environment == "Sandbox" ? " Sandbox" : ""),
            [event.result, event.reason].compactMap(\.self).joined(separator: " "), event.usage,
        ].map(\.onOneLineSafely)
        columns.widen(for: cells)
        var padded = columns.padded(cells)
        if isColoured, let colour = Self.colours[event.result] { padded[3] = "\u{1B}[\(colour)m\(padded[3])\u{1B}[0m" }
        let hint = Self.explained.contains(event.result) ? ["explain \(event.key.eventID)"] : []
        return (padded + ["#\(event.key.eventID)", Self.duration(event.milliseconds)] + hint).joined(separator: "  ") + "\n"
    }

    /// Outcomes of which an operator wants to know the cause.
    private static let explained: Set<String> = ["rejected", "failed", "unhandled"]

    /// SGR codes: green, red, yellow, dim.
    private static let colours = [
        "applied": 32, "rejected": 31, "failed": 31, "unhandled": 33, "discarded": 33, "superseded": 2, "no_effect": 2, "duplicate": 2,
    ]

    private static func duration(_ milliseconds: Int64) -> String {
        milliseconds < 10_000 ? "\(milliseconds) ms" : "\(milliseconds / 1000) s"
    }
}

extension SettledEvent {
    /// The user, and what the user may use until when.
    fileprivate var usage: String {
        guard originalTransactionID != nil else { return "" }
        let things = entitlements.isEmpty ? product : entitlements.joined(separator: ", ")
        let end: String? =
            if isEndless { "without end" } else { until.map { "\(isActive ? "until" : "ended") \("\($0)".prefix(10))" } }
        return ([user ?? "no user", things] + (entitlements.isEmpty ? [] : [end])).compactMap(\.self).joined(separator: " ")
    }
}
