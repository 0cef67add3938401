# Coefficients of the scaling laws by R's nls, for crates/stats/src/scaling_law/tests/published.rs.
# Debian: apt-get install r-base-core; then: Rscript bench/laws/nls.R
usl <- function(n, g, a, b) g * n / (1 + a * (n - 1) + b * n * (n - 1))
data <- list(
  raytracer = data.frame(
    n = c(1, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64),
    y = c(20, 78, 130, 170, 190, 200, 210, 230, 260, 280, 310)),
  specsdm91 = data.frame(
    n = c(1, 18, 36, 72, 108, 144, 216),
    y = c(64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2)),
  mysql = data.frame(
    n = 1:32,
    y = c(955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08, 7219.8, 7867.61, 8278.71, 8646.7,
          9047.84, 9426.55, 9645.37, 9897.24, 10097.6, 10240.5, 10532.39, 10798.52, 11151.43, 11518.63, 11806.0,
          12089.37, 12075.41, 12177.29, 12211.41, 12158.93, 12155.27, 12118.04, 12140.4, 12074.39)))
show <- function(name, fit) cat(sprintf("%-28s %s\n", name, paste(sprintf("%.6g", coef(fit)), collapse = " ")))
tight <- nls.control(maxiter = 1000, tol = 1e-10)
polish <- nls.control(tol = 1e-9, minFactor = 1e-10, warnOnly = TRUE)
for (name in names(data)) {
  set <- data[[name]]
  start <- list(g = max(set$y / set$n), a = 0.01, b = 1e-4)
  bounds <- list(lower = c(0, 0, 0), upper = c(Inf, 1, 1))
  show(paste(name, "absolute"), nls(y ~ usl(n, g, a, b), set, start, tight, "port", lower = bounds$lower, upper = bounds$upper))
  near <- nls(log(y) ~ log(usl(n, g, a, b)), set, start, tight, "port", lower = bounds$lower, upper = bounds$upper)
  # "port" ends early on a coefficient near 0; Gauss-Newton goes on from there.
  show(paste(name, "relative"), nls(log(y) ~ log(usl(n, g, a, b)), set, as.list(coef(near)), polish))
}

# Times over a number of objects, in ms, two trials each.
n <- rep(c(1000, 3000, 10000, 30000, 100000, 300000), each = 2)
power <- list(
  list = c(5.21, 5.47, 6.9, 6.72, 12.4, 13.1, 31.8, 29.9, 101.2, 108.7, 322.1, 301.5),
  worse = c(2.02, 2.11, 2.31, 2.26, 3.95, 4.12, 13.2, 12.4, 71.9, 76.3, 402.0, 371.0),
  falling = c(812, 790, 431, 452, 260, 251, 181, 176, 139, 147, 133, 128))
starts <- list(list = list(a = 4, b = 1e-3, k = 1), worse = list(a = 2, b = 1e-5, k = 1.3), falling = list(a = 100, b = 1e5, k = -0.7))
for (name in names(power)) {
  set <- data.frame(n = n, y = power[[name]])
  fit <- nls(log(y) ~ log(a + b * (n / 3e5)^k), set, list(a = starts[[name]]$a, b = starts[[name]]$b * 3e5^starts[[name]]$k, k = starts[[name]]$k),
             tight, "port", lower = c(0, 0, -5), upper = c(Inf, Inf, 5))
  found <- coef(fit)
  cat(sprintf("%-28s %.6g %.6g %.6g\n", name, found["a"], found["b"] / 3e5^found["k"], found["k"]))
  cat(sprintf("%-28s %s\n", paste(name, "errors of a, k"), paste(sprintf("%.4g", summary(fit)$coefficients[c("a", "k"), 2]), collapse = " ")))
}
