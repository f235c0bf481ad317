/// How far the clock of the server is from the one of this machine.
struct ClockSkew: Sendable {
    /// Seconds; negative where the server is behind.
    let ahead: Double
    /// Seconds of the exchange in which the server read its clock.
    let roundTrip: Double

    /// Judges the part of the difference that the round trip does not explain.
    var finding: Finding {
        let certain = max(0, abs(ahead) - roundTrip / 2)
        let amount = "\((abs(ahead) * 1000).rounded() / 1000) s \(ahead < 0 ? "behind" : "ahead of") this machine"
        let remedy = "synchronise both machines' clocks (chrony, systemd-timesyncd)"
        if certain > 60 { return .failure("clock", amount, remedy) }
        return certain > 1 ? .warning("clock", amount, remedy) : .ok("clock", amount)
    }
}
