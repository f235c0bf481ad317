import Glibc

extension Double {
    /// Rounded to four significant digits.
    var shortened: Double {
        guard isFinite, self != 0 else { return self }
        let scale = pow(10, 3 - log10(magnitude).rounded(.down))
        return scale >= 1 ? (self * scale).rounded() / scale : rounded()
    }

    /// Text without a trailing `.0`: `12345`, `1.234`, `0.5`.
    var figureText: String {
        let short = shortened
        guard short.isFinite else { return "\(short)" }
        if short == short.rounded(), short.magnitude < 1e15 { return String(Int64(short)) }
        return "\(short)"
    }
}
