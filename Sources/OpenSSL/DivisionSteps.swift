/// What 62 division steps (Bernstein and Yang, 2019) make of two numbers f and g, f odd: f' and g', each 2^-62 times a sum of multiples of f
/// and g. A step halves g, or first adds f to it, or changes the two beforehand, whatever makes it even and keeps both from growing.
struct DivisionSteps {
    /// How often f and how often g is in something, in 2^62nds.
    struct Multiples {
        var f: Int64
        var g: Int64

        fileprivate mutating func double(times count: Int) {
            f <<= Int64(count)
            g <<= Int64(count)
        }

        fileprivate mutating func add(_ other: Multiples, times count: Int64) {
            f = f &+ other.f &* count
            g = g &+ other.g &* count
        }

        fileprivate static prefix func - (multiples: Multiples) -> Multiples {
            Multiples(f: 0 &- multiples.f, g: 0 &- multiples.g)
        }
    }

    private(set) var ofF = Multiples(f: 1, g: 0)
    private(set) var ofG = Multiples(f: 0, g: 1)

    /// - Parameters:
    ///   - lastF: the last 62 bits of f, or more of them.
    ///   - lastG: those of g.
    ///   - lead: by how many halvings g is behind f, less one: below zero the two change places. -1 to begin with.
    init(of lastF: Int64, _ lastG: Int64, lead: inout Int) {
        var (f, g) = (lastF, lastG)
        var left = 62
        while true {
            let zeros = min(g.trailingZeroBitCount, left)
            g >>= Int64(zeros)
            ofF.double(times: zeros)
            lead -= zeros
            left -= zeros
            if left == 0 { return }
            if lead < 0 {
                lead = -lead
                (f, g) = (g, 0 &- f)
                (ofF, ofG) = (ofG, -ofF)
            }
            // So many steps until the two change places or all are done, as far as f (f² - 2) is -1/f: six bits.
            let count = min(lead + 1, left, 6)
            let multiple = (f &* g &* (f &* f &- 2)) & (1 << Int64(count) - 1)
            g = g &+ f &* multiple
            ofG.add(ofF, times: multiple)
        }
    }
}
