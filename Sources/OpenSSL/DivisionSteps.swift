/// The transition matrix of 62 division steps (Bernstein and Yang, 2019) on two numbers f and g, f odd. The steps turn f and g into
/// f' = (u · f + v · g) / 2^62 and g' = (q · f + r · g) / 2^62.
///
/// The algorithm is the variable-time one of libsecp256k1 (`secp256k1_modinv64_divsteps_62_var`).
struct DivisionSteps {
    /// One row of the matrix: the coefficients of f and g.
    struct Row {
        var f: Int64
        var g: Int64

        fileprivate mutating func double(times count: Int) {
            f <<= Int64(count)
            g <<= Int64(count)
        }

        fileprivate mutating func add(_ other: Row, times count: Int64) {
            f = f &+ other.f &* count
            g = g &+ other.g &* count
        }

        fileprivate static prefix func - (row: Row) -> Row {
            Row(f: 0 &- row.f, g: 0 &- row.g)
        }
    }

    /// u and v, which make f'.
    private(set) var rowF = Row(f: 1, g: 0)
    /// q and r, which make g'.
    private(set) var rowG = Row(f: 0, g: 1)

    /// - Parameters:
    ///   - lastF: The low bits of f, at least 62.
    ///   - lastG: The low bits of g, at least 62.
    ///   - eta: The negative of the algorithm's delta, -1 at first: below zero f and g are swapped.
    init(of lastF: Int64, _ lastG: Int64, eta: inout Int) {
        var (f, g) = (lastF, lastG)
        var left = 62
        while true {
            let zeros = min(g.trailingZeroBitCount, left)
            g >>= Int64(zeros)
            rowF.double(times: zeros)
            eta -= zeros
            left -= zeros
            if left == 0 { return }
            if eta < 0 {
                eta = -eta
                (f, g) = (g, 0 &- f)
                (rowF, rowG) = (rowG, -rowF)
            }
            // Clears up to six low bits of g before the next swap or the last step: f (f² - 2) is -1/f modulo 2^6.
            let count = min(eta + 1, left, 6)
            let multiple = (f &* g &* (f &* f &- 2)) & (1 << Int64(count) - 1)
            g = g &+ f &* multiple
            rowG.add(rowF, times: multiple)
        }
    }
}
