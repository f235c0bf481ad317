import Glibc

extension Double {
    /// With no more than four digits that mean something; a measurement has no more.
    var shortened: Double {
        guard isFinite, self != 0 else { return self }
        let scale = pow(10, 3 - log10(magnitude).rounded(.down))
        return scale >= 1 ? (self * scale).rounded() / scale : rounded()
    }

    /// As a person writes it: `12345`, `1.234`, `0.5`.
    var figureText: String {
        let short = shortened
        guard short.isFinite else { return "\(short)" }
        if short == short.rounded(), short.magnitude < 1e15 { return String(Int64(short)) }
        return "\(short)"
    }
}
