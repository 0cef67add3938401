# GET /random?num=N with Phoenix: a JSON list of N random numbers, each as a string of six digits.

defmodule Technology.ErrorJSON do
  def render(template, _assigns), do: %{error: Phoenix.Controller.status_message_from_template(template)}
end

# The value of `num`: digits alone, where Integer.parse takes a sign.
defmodule Technology.Count do
  @highest 100_000

  # `num[]` and `num[key]` are other names; Plug puts their values under `num` as a list or a map.
  def of_query(%{"num" => other}) when is_list(other) or is_map(other), do: {:ok, 10}
  def of_query(%{"num" => given}), do: of_text(given)
  def of_query(_), do: {:ok, 10}

  defp of_text(<<first, _::binary>> = given) when first in ?0..?9 do
    case Integer.parse(given) do
      {num, ""} when num <= @highest -> {:ok, num}
      _ -> :error
    end
  end

  defp of_text(_), do: :error
end

defmodule Technology.Controller do
  use Phoenix.Controller, formats: [:json]

  def random(conn, _params) do
    case Technology.Count.of_query(conn.query_params) do
      {:ok, num} -> json(conn, for(_ <- 1..num//1, do: number()))
      :error -> conn |> put_status(400) |> json(%{error: "num is a number from 0 to 100000"})
    end
  end

  defp number do
    (:rand.uniform(1_000_000) - 1) |> Integer.to_string() |> String.pad_leading(6, "0")
  end
end

defmodule Technology.Router do
  use Phoenix.Router, helpers: false
  import Phoenix.Controller, only: [accepts: 2]

  pipeline :api do
    plug :accepts, ["json"]
    # Phoenix fetches the query by itself only where a plug asks for it. One that cannot be decoded is answered with 400.
    plug :fetch_query_params
  end

  scope "/", Technology do
    pipe_through :api
    get "/random", Controller, :random
  end
end

defmodule Technology.Endpoint do
  use Phoenix.Endpoint, otp_app: :technology
  plug Technology.Router
end

defmodule Technology.Application do
  use Application

  def start(_type, _args) do
    Supervisor.start_link([Technology.Endpoint], strategy: :one_for_one)
  end
end
